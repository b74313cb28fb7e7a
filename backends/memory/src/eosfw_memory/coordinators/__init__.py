"""Decide what becomes of transactions."""
