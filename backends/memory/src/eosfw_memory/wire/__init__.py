"""Serve Kafka's wire protocol."""
