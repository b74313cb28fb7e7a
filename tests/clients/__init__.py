"""Unmodified third-party clients against the embedded broker."""
