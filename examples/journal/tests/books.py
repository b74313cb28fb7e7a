"""What the journal of the tests holds."""

BOOKED = [["rent -900"], ["salary +2000", "tax -400", "savings -100"], ["food -60", "fuel -40"]]
"""What the database committed, transaction by transaction."""
ROLLED_BACK = ["yacht -90000", "loan +90000"]
OPEN = "gift +10"
"""Changed in a transaction that has not ended."""
