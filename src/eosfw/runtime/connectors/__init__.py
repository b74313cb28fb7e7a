"""What runs for a connector beside its tasks (Kafka Connect's `WorkerConnector`)."""
