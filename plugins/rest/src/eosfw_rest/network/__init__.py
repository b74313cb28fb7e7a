"""The web server: its event loop, its limits, and whoever it lets in."""
