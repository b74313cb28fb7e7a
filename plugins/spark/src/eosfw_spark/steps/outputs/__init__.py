"""The kinds of output that steps have."""
