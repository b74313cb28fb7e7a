"""Producer ids and transactions; Kafka's `TransactionCoordinator` requests."""
