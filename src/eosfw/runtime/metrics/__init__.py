"""What a worker measures, and who is told (Kafka Connect's `ConnectMetrics`)."""
