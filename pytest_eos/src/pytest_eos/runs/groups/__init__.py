"""The workers of a test, in one process or as a group."""
