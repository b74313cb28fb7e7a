"""Keep one partition's records as the batches that producers sent, byte for byte.

Everything here is pure: no clock, thread or socket; time is an argument in milliseconds. Callers serialise access. A
log has one segment and lives in memory: nothing is compacted, expired or written to disk.
"""
