"""Build and number the releases of this repository."""
