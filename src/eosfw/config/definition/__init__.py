"""Definitions of properties, the types of their values, and parsing by them (Kafka's `ConfigDef`)."""
