"""What a pipeline file says, and whether it can work."""
