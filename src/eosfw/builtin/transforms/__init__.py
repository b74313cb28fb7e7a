"""Kafka Connect's transformations and predicates, by its names and properties."""
