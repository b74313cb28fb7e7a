"""The exactly-once sink: batches of queries and batch writes into topics, each row once (Spark's `KafkaSink`)."""
