"""Answer Kafka's requests, one module for each."""
