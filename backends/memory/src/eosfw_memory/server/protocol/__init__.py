"""Kafka's protocol: messages as bytes, the table of requests, one handler for each."""

from eosfw_memory.common import kio_import as kio_import  # before anything imports kio
