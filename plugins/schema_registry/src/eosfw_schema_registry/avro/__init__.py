"""Converters to Avro."""
