"""The replication slot of a connector, its publication, and the stream of changes that is read from it."""
