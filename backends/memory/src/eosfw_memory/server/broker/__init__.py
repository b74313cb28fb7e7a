"""The state of a broker, its life cycle, and what it does by itself."""
