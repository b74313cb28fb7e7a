"""The data directory of the embedded broker: what survives, what is refused."""
