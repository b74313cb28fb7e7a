"""Keep a broker's topics, in memory or in a data directory.

The layers above use a `TopicStorage` and never know which one it is. In a directory an append is handed to the
operating system before it is answered, or with `waits` is on the disk: Kafka's own meaning, with Kafka's file names.
Everything but the record batches can be rebuilt from them.
"""
