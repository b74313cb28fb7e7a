"""The contracts of source connectors: their tasks run without a worker or a cluster."""
