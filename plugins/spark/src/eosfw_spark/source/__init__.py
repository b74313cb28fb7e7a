"""Reads of committed records: options, offset ranges, Arrow columns, the readers."""
