"""Consumer groups and their offsets; Kafka's `GroupCoordinator` requests."""
