"""Administration of a cluster (`KafkaAdminClient`)."""
