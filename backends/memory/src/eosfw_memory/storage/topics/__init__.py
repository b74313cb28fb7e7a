"""The topics of a broker: creation, defaults, partitions."""
