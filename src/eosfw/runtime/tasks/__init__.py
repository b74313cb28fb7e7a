"""What runs inside one task: startup, loop, transactions, end (Kafka Connect's `WorkerSourceTask`)."""
