"""What one task decides: where its transactions end, when it tries again, whether its source stands still."""
