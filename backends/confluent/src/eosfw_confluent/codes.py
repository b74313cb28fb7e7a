"""Name librdkafka's own error codes; the underscore in their names marks them as local, not as private."""
# ruff: noqa: SLF001

from __future__ import annotations

from typing import Final

from confluent_kafka import KafkaError

ALL_BROKERS_DOWN: Final = KafkaError._ALL_BROKERS_DOWN
AUTHENTICATION: Final = KafkaError._AUTHENTICATION
AUTO_OFFSET_RESET: Final = KafkaError._AUTO_OFFSET_RESET
BAD_MESSAGE: Final = KafkaError._BAD_MSG
CONFLICT: Final = KafkaError._CONFLICT
END_OF_PARTITION: Final = KafkaError._PARTITION_EOF
FATAL: Final = KafkaError._FATAL
FENCED: Final = KafkaError._FENCED
INCONSISTENT: Final = KafkaError._INCONSISTENT
INVALID_ARGUMENT: Final = KafkaError._INVALID_ARG
LOG_TRUNCATION: Final = KafkaError._LOG_TRUNCATION
MAX_POLL_EXCEEDED: Final = KafkaError._MAX_POLL_EXCEEDED
MESSAGE_TIMED_OUT: Final = KafkaError._MSG_TIMED_OUT
NO_ENTRY: Final = KafkaError._NOENT
PURGED_IN_FLIGHT: Final = KafkaError._PURGE_INFLIGHT
PURGED_IN_QUEUE: Final = KafkaError._PURGE_QUEUE
QUEUE_FULL: Final = KafkaError._QUEUE_FULL
SSL: Final = KafkaError._SSL
STATE: Final = KafkaError._STATE
TIMED_OUT: Final = KafkaError._TIMED_OUT
TRANSPORT: Final = KafkaError._TRANSPORT
UNKNOWN_PARTITION: Final = KafkaError._UNKNOWN_PARTITION
UNKNOWN_TOPIC: Final = KafkaError._UNKNOWN_TOPIC
WAIT_COORDINATOR: Final = KafkaError._WAIT_COORD
