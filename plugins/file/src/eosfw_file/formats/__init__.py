"""From the text of a file to records: lines, CSV, JSON Lines."""
