"""Kafka Connect's converters to text, bytes and JSON, by its names and properties."""
