"""Options, markers and statistics of a session of pytest."""
