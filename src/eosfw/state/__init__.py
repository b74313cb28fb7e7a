"""Pure decisions: state machines as tables and functions without clock, thread, socket or logger."""
