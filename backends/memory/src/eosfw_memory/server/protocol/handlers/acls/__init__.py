"""Rights of principals."""
