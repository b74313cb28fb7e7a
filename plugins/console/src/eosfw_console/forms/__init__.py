"""What each form changes."""
