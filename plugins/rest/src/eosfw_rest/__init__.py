"""Kafka Connect's REST interface for the workers of eosfw."""
