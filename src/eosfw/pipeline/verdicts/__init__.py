"""Whether a run lost or repeated records, by reading its sources again."""
