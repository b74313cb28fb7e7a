"""The broker's properties that are defaults of topics. Kafka's `ServerTopicConfigSynonyms`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from eosfw.config import ConfigDef, Int, Long
from eosfw.errors import ConfigError, Problem

_NO_LIMIT = "-1"
_HOUR_MS, _MINUTE_MS = 3_600_000, 60_000

TOPIC_DEFAULTS = ConfigDef(
    Int("message.max.bytes", default=1_048_588, at_least=0, doc="largest batch of records a topic takes"),
    Int("log.segment.bytes", default=1_073_741_824, at_least=1 << 20, doc="a larger segment is followed by the next"),
    Long("log.roll.ms", default=None, at_least=1, doc="so is an older one; wins over log.roll.hours"),
    Int("log.roll.hours", default=168, at_least=1, doc="the same in hours"),
    Long("log.retention.bytes", default=-1, doc="a partition that is larger loses its oldest segments; -1: never"),
    Long("log.retention.ms", default=None, at_least=-1,
        doc="segments whose records are all older are dropped; -1: never; wins over minutes and hours"),
    Int("log.retention.minutes", default=None, at_least=-1, doc="the same in minutes; wins over hours"),
    Int("log.retention.hours", default=168, at_least=-1, doc="the same in hours"),
    Long("log.message.timestamp.after.max.ms", default=3_600_000, at_least=0,
        doc="records whose timestamps are further ahead of the broker's clock are refused"),
)  # fmt: skip
"""The broker's properties that hold for topics which do not set their own."""

SYNONYMS: Final[Mapping[str, tuple[tuple[str, int], ...]]] = {
    "max.message.bytes": (("message.max.bytes", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "segment.bytes": (("log.segment.bytes", 1),),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", _HOUR_MS)),
    "retention.bytes": (("log.retention.bytes", 1),),
    "retention.ms": (
        ("log.retention.ms", 1),
        ("log.retention.minutes", _MINUTE_MS),
        ("log.retention.hours", _HOUR_MS),
    ),
}
"""For each property of topics the broker's properties, with their units in it; the first that is given wins."""
_RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")


def topic_defaults(given: Mapping[str, str]) -> dict[str, str]:
    """The properties of topics whose defaults the broker's properties change; raises ConfigError."""
    values = TOPIC_DEFAULTS.parse({name: text for name, text in given.items() if name in TOPIC_DEFAULTS.keys})
    problems = [
        Problem("embedded broker", f"{name} must be unlimited (-1) or, equal or greater than 1")
        for name in _RETENTION
        if values[name] == 0
    ]
    if problems:
        raise ConfigError(*problems)
    found = {}
    for topic_property, synonyms in SYNONYMS.items():
        given_value = next(((values[name], unit) for name, unit in synonyms if name in given), None)
        if given_value is not None:
            number, unit = given_value
            found[topic_property] = str(number * unit) if number >= 0 else _NO_LIMIT
    return found
