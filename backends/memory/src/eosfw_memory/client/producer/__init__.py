"""The producer (`KafkaProducer`): records gathered, sent, acknowledged."""
