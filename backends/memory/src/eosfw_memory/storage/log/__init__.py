"""Keep one partition's records as the batches that producers sent, byte for byte.

No clock, thread or socket: time is an argument in milliseconds, and callers serialise access. Where segments are kept
is up to a `LogStorage`.
"""
