"""What reads and writes records: produce, fetch, offsets of a log."""
