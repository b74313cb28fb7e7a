"""What every backend keeps: transactions, reading, administration, deadlines."""
