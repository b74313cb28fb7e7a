"""What Java's own library does with texts, numbers and times, as far as Kafka Connect's answers depend on it."""
