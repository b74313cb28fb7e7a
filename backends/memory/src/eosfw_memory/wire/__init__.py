"""Serve Kafka's wire protocol."""

from eosfw_memory import lean as lean  # before anything imports kio
