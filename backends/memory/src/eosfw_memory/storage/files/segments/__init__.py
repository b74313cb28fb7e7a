"""The files of one partition: segments, indexes, snapshots, recovery."""
