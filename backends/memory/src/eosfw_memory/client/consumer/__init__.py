"""Reading, and membership in a consumer group (`KafkaConsumer`)."""
