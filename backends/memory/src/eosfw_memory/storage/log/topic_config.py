"""The properties a topic may have, and what they must be. Kafka's `TopicConfig` and `LogConfig.validate`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from eosfw.config import Boolean, Choice, ConfigDef, Int, Key, List, Long, nearest
from eosfw.errors import ConfigError
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.storage.log.log_config import LogConfig
from eosfw_memory.storage.records.batch import TimestampType


@dataclass(frozen=True, slots=True)
class Ratio(Key):
    """A part of a whole."""

    def parse(self, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            raise ValueError("Not a number of type DOUBLE") from None
        if not 0 <= number <= 1:
            raise ValueError("Value must be at least 0" if number < 0 else "Value must be no more than 1")
        return number


@dataclass(frozen=True, slots=True)
class Replicas(List):
    """Replicas as PARTITION:BROKER."""

    def parse(self, text: str) -> tuple[str, ...]:
        replicas = List.parse(self, text)
        if text.strip() != "*" and not all(_REPLICA.fullmatch(each) for each in replicas):
            raise ValueError(f"{self.name} must be the literal '*' or a list of replicas: [partitionId]:[brokerId],...")
        return replicas


_REPLICA = re.compile(r"\d+:\d+")
TOPIC = ConfigDef(
    List("cleanup.policy", default="delete", doc="delete, compact, or both"),
    Int("compression.gzip.level", default="-1", at_least=-1, at_most=9),
    Int("compression.lz4.level", default="9", at_least=1, at_most=17),
    Choice("compression.type", default="producer", among=("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")),
    Int("compression.zstd.level", default="3", at_least=-131072, at_most=22),
    Long("delete.retention.ms", default="86400000", at_least=0),
    Long("file.delete.delay.ms", default="60000", at_least=0),
    Long("flush.messages", default=str(2**63 - 1), at_least=1),
    Long("flush.ms", default=str(2**63 - 1), at_least=0),
    Replicas("follower.replication.throttled.replicas", default=""),
    Int("index.interval.bytes", default="4096", at_least=0),
    Replicas("leader.replication.throttled.replicas", default=""),
    Long("local.retention.bytes", default="-2", at_least=-2),
    Long("local.retention.ms", default="-2", at_least=-2),
    Long("max.compaction.lag.ms", default=str(2**63 - 1), at_least=1),
    Int("max.message.bytes", default="1048588", at_least=0),
    Long("message.timestamp.after.max.ms", default="3600000", at_least=0),
    Long("message.timestamp.before.max.ms", default=str(2**63 - 1), at_least=0),
    Choice("message.timestamp.type", default="CreateTime", among=("CreateTime", "LogAppendTime")),
    Ratio("min.cleanable.dirty.ratio", default="0.5"),
    Long("min.compaction.lag.ms", default="0", at_least=0),
    Int("min.insync.replicas", default="1", at_least=1),
    Boolean("preallocate", default="false"),
    Boolean("remote.log.copy.disable", default="false"),
    Boolean("remote.log.delete.on.disable", default="false"),
    Boolean("remote.storage.enable", default="false"),
    Long("retention.bytes", default="-1"),
    Long("retention.ms", default="604800000", at_least=-1),
    Int("segment.bytes", default="1073741824", at_least=14),
    Int("segment.index.bytes", default="10485760", at_least=4),
    Long("segment.jitter.ms", default="0", at_least=0),
    Long("segment.ms", default="604800000", at_least=1),
    Boolean("unclean.leader.election.enable", default="false"),
)
"""Kafka's topic properties; the defaults are texts, as they are shown."""

_HIDDEN = ConfigDef(Int("internal.segment.bytes", default=""))
"""Kafka's own property for tests, which need smaller segments than clients may ask for."""

_ALL = TOPIC + _HIDDEN
_SMALLEST_SEGMENT = 1 << 20
MAX_PARTITIONS = 10_000
"""On one machine more partitions in one topic can only be a mistake."""

DYNAMIC_TOPIC_CONFIG, STATIC_BROKER_CONFIG, DEFAULT_CONFIG = 1, 4, 5
"""Kafka's `ConfigSource`: where a property comes from, as DescribeConfigs answers it."""
NO_DEFAULTS: Final[Mapping[str, str]] = MappingProxyType({})
_REMEMBERED = 256
"""Sets of properties whose check is remembered: most topics have the properties of another one."""
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_POLICIES = frozenset({"delete", "compact"})


def legal_name(name: str) -> bool:
    """Whether a topic may have this name."""
    return _LEGAL_NAME.fullmatch(name) is not None and name not in (".", "..")


def check_name(name: str) -> None:
    """Raise InvalidTopic for a name that no topic may have."""
    if not legal_name(name):
        raise KafkaError(Code.INVALID_TOPIC_EXCEPTION, f"topic name {name!r} is illegal: use 1 to 249 of a-zA-Z0-9._-")


def check_shape(partitions: int, config: Mapping[str, str]) -> None:
    """Raise InvalidPartitions or InvalidConfig for a number or properties that no topic may have."""
    if not 0 < partitions <= MAX_PARTITIONS:
        raise KafkaError(
            Code.INVALID_PARTITIONS, f"number of partitions must be 1 to {MAX_PARTITIONS}, not {partitions}"
        )
    check_config(config)


def check_config(config: Mapping[str, str]) -> None:
    """Raise InvalidConfig, naming the property, for properties that no topic may have."""
    _check_config(tuple(config.items()))


@lru_cache(_REMEMBERED)
def _check_config(items: tuple[tuple[str, str], ...]) -> None:
    config = dict(items)
    for name in config:
        if name not in _ALL.keys:
            near = nearest(name, TOPIC.keys)
            raise _invalid(f"Unknown topic config name: {name}" + (f"; did you mean {near}?" if near else ""))
    try:
        _ALL.parse(config)
    except ConfigError as wrong:
        raise _invalid(str(wrong)) from wrong
    if not _policies(config) <= _POLICIES:
        raise _invalid_value(config, "cleanup.policy", "String must be one of: compact, delete")
    if config.get("compression.gzip.level") == "0":
        raise _invalid_value(config, "compression.gzip.level", "Value must be between 1 and 9 or equal to -1")


def check_wanted(config: Mapping[str, str]) -> None:
    """Raise InvalidConfig also for properties that clients may not ask for, but code in this process may."""
    check_config(config)
    values = _ALL.parse(config)
    if values["segment.bytes"] and int(values["segment.bytes"]) < _SMALLEST_SEGMENT:
        raise _invalid_value(config, "segment.bytes", f"Value must be at least {_SMALLEST_SEGMENT}")
    for name, key in TOPIC.keys.items():
        if isinstance(key, Choice) and name in config and config[name].strip() not in key.among:
            raise _invalid_value(config, name, f"String must be one of: {', '.join(key.among)}")
    if int(values["min.compaction.lag.ms"]) > int(values["max.compaction.lag.ms"]):
        raise _invalid(
            f"conflict topic config setting min.compaction.lag.ms ({values['min.compaction.lag.ms']}) > "
            f"max.compaction.lag.ms ({values['max.compaction.lag.ms']})"
        )
    if values["remote.storage.enable"] is True:
        raise _invalid(
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log "
            "storage."
        )


def _invalid(message: str) -> KafkaError:
    return KafkaError(Code.INVALID_CONFIG, message)


def _invalid_value(config: Mapping[str, str], name: str, why: str) -> KafkaError:
    return _invalid(f"Invalid value {config[name]} for configuration {name}: {why}")


def _policies(config: Mapping[str, str]) -> frozenset[str]:
    """The values of `cleanup.policy`; an empty list keeps records for ever."""
    text = config.get("cleanup.policy", "delete")
    return frozenset(policy.strip() for policy in text.split(",")) if text.strip() else frozenset()


def in_force(config: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """Every property of a topic: its own over the broker's defaults over Kafka's."""
    values = {**defaults, **config}
    hidden = {name: values[name] for name in _HIDDEN.keys if name in values}
    return {name: values.get(name, str(key.default)) for name, key in TOPIC.keys.items()} | hidden


def source(name: str, config: Mapping[str, str], defaults: Mapping[str, str]) -> int:
    """Kafka's number for where a topic's property comes from."""
    if name in config:
        return DYNAMIC_TOPIC_CONFIG
    return STATIC_BROKER_CONFIG if name in defaults else DEFAULT_CONFIG


def log_config(config: Mapping[str, str], defaults: Mapping[str, str] = NO_DEFAULTS) -> LogConfig:
    """The properties of a topic as its partitions use them."""
    return _log_config(tuple({**defaults, **config}.items()))


@lru_cache(_REMEMBERED)
def _log_config(items: tuple[tuple[str, str], ...]) -> LogConfig:
    values = in_force(dict(items), {})
    stamped = values["message.timestamp.type"].strip().lower() == "logappendtime"
    policies, segment_ms = _policies(values), int(values["segment.ms"])
    max_lag_ms = int(values["max.compaction.lag.ms"])
    return LogConfig(
        max_message_bytes=int(values["max.message.bytes"]),
        timestamp_type=TimestampType.LOG_APPEND_TIME if stamped else TimestampType.CREATE_TIME,
        timestamp_before_max_ms=int(values["message.timestamp.before.max.ms"]),
        timestamp_after_max_ms=int(values["message.timestamp.after.max.ms"]),
        compacted="compact" in policies,
        deleted="delete" in policies,
        segment_bytes=int(values.get("internal.segment.bytes", values["segment.bytes"])),
        segment_ms=min(segment_ms, max_lag_ms) if "compact" in policies else segment_ms,
        retention_bytes=int(values["retention.bytes"]),
        retention_ms=int(values["retention.ms"]),
        delete_retention_ms=int(values["delete.retention.ms"]),
        min_compaction_lag_ms=int(values["min.compaction.lag.ms"]),
        max_compaction_lag_ms=max_lag_ms,
        min_dirty_ratio=float(values["min.cleanable.dirty.ratio"]),
    )
