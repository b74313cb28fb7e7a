"""The life of an embedded broker: start, properties, clock, background tasks, stop."""
