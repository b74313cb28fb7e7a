"""Know the properties a topic may have."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eosfw.config.definition import Boolean, Choice, ConfigDef, Int, List, Long, String
from eosfw.errors import ConfigError
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.log.batch import TimestampType
from eosfw_memory.log.validation import LogConfig

TOPIC = ConfigDef(
    List("cleanup.policy", default="delete", doc="delete, compact, or both"),
    Choice("compression.type", default="producer", among=("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")),
    Long("delete.retention.ms", default="86400000", at_least=0),
    Long("file.delete.delay.ms", default="60000", at_least=0),
    Long("flush.messages", default=str(2**63 - 1), at_least=1),
    Long("flush.ms", default=str(2**63 - 1), at_least=0),
    Int("index.interval.bytes", default="4096", at_least=0),
    Long("max.compaction.lag.ms", default=str(2**63 - 1), at_least=1),
    Int("max.message.bytes", default="1048588", at_least=0),
    Long("message.timestamp.after.max.ms", default="3600000", at_least=0),
    Long("message.timestamp.before.max.ms", default=str(2**63 - 1), at_least=0),
    Choice("message.timestamp.type", default="CreateTime", among=("CreateTime", "LogAppendTime")),
    String("min.cleanable.dirty.ratio", default="0.5"),
    Long("min.compaction.lag.ms", default="0", at_least=0),
    Int("min.insync.replicas", default="1", at_least=1),
    Boolean("preallocate", default="false"),
    Long("retention.bytes", default="-1"),
    Long("retention.ms", default="604800000", at_least=-1),
    Int("segment.bytes", default="1073741824", at_least=14),
    Int("segment.index.bytes", default="10485760", at_least=4),
    Long("segment.jitter.ms", default="0", at_least=0),
    Long("segment.ms", default="604800000", at_least=1),
    Boolean("unclean.leader.election.enable", default="false"),
)
"""Kafka's topic properties; the defaults are texts, as they are shown."""

MAX_PARTITIONS = 10_000
"""More in one topic would only be a mistake on one machine."""

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_POLICIES = frozenset({"delete", "compact"})


def check_name(name: str) -> None:
    """Raise InvalidTopic for what can be no topic's name."""
    if not _LEGAL_NAME.fullmatch(name) or name in (".", ".."):
        raise KafkaError(Code.INVALID_TOPIC_EXCEPTION, f"topic name {name!r} is illegal: use 1 to 249 of a-zA-Z0-9._-")


def check_shape(partitions: int, config: Mapping[str, str]) -> None:
    """Raise InvalidPartitions or InvalidConfig for what no topic can have."""
    if not 0 < partitions <= MAX_PARTITIONS:
        raise KafkaError(
            Code.INVALID_PARTITIONS, f"number of partitions must be 1 to {MAX_PARTITIONS}, not {partitions}"
        )
    checked_config(config)


def checked_config(config: Mapping[str, str]) -> None:
    """Raise InvalidConfig naming what is wrong with a topic's properties."""
    try:
        TOPIC.parse(config)
    except ConfigError as wrong:
        raise KafkaError(Code.INVALID_CONFIG, str(wrong)) from wrong
    _check_ratio(config)
    if not _policies(config) <= _POLICIES:
        raise KafkaError(
            Code.INVALID_CONFIG,
            f"Invalid value {config['cleanup.policy']} for configuration cleanup.policy: "
            "String must be one of: compact, delete",
        )


def _policies(config: Mapping[str, str]) -> frozenset[str]:
    return frozenset(policy.strip() for policy in config.get("cleanup.policy", "delete").split(","))


def _check_ratio(config: Mapping[str, str]) -> None:
    text = config.get("min.cleanable.dirty.ratio", "0.5")
    try:
        fits = 0 <= float(text) <= 1
    except ValueError:
        fits = False
    if not fits:
        raise KafkaError(
            Code.INVALID_CONFIG, f"Invalid value {text} for configuration min.cleanable.dirty.ratio: 0 to 1 is possible"
        )


def in_force(config: Mapping[str, str]) -> dict[str, str]:
    """Every property of a topic: its own over the defaults."""
    return {name: config.get(name, str(key.default)) for name, key in TOPIC.keys.items()}


def log_config(config: Mapping[str, str]) -> LogConfig:
    """Those properties that decide what a topic's partitions accept."""
    values = in_force(config)
    stamped = values["message.timestamp.type"].lower() == "logappendtime"
    return LogConfig(
        max_message_bytes=int(values["max.message.bytes"]),
        timestamp_type=TimestampType.LOG_APPEND_TIME if stamped else TimestampType.CREATE_TIME,
        timestamp_before_max_ms=int(values["message.timestamp.before.max.ms"]),
        timestamp_after_max_ms=int(values["message.timestamp.after.max.ms"]),
        compacted="compact" in _policies(values),
        deleted="delete" in _policies(values),
        segment_bytes=int(values["segment.bytes"]),
        segment_ms=int(values["segment.ms"]),
        retention_bytes=int(values["retention.bytes"]),
        retention_ms=int(values["retention.ms"]),
        delete_retention_ms=int(values["delete.retention.ms"]),
        min_compaction_lag_ms=int(values["min.compaction.lag.ms"]),
        min_dirty_ratio=float(values["min.cleanable.dirty.ratio"]),
    )
