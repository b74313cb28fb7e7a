"""Whether each record is there once, and if not, why."""
