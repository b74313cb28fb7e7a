"""What every backend keeps: transactions, reading, group membership, administration, deadlines."""
