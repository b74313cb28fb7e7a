"""Decide, without clock, thread, socket or logger: state machines as tables, decisions as pure functions."""
