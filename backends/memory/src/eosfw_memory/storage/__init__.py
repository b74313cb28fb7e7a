"""Keep a broker's topics, in memory or in a data directory.

What is above asks a `Storage` and never knows which. In a directory an append is handed to the operating system before
it is answered, or with `waits` is on the disk: Kafka's own meaning, with Kafka's file names. Everything but
the record batches can be rebuilt from them.
"""
