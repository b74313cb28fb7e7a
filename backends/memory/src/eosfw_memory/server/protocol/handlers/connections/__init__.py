"""What a connection begins with: versions and authentication."""
