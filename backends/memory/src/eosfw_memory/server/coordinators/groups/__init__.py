"""Coordinate groups of clients, with the offsets they commit (classic group protocol)."""
