"""Requests as bytes, and what the embedded broker answers, beside a real Kafka where one runs."""
