"""Recorded answers of a real Kafka, compared with the embedded broker's."""
