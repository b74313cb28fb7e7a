"""The values of options, read from their texts; a ValueError says what is wrong with one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from eosfw.ids import TopicPartition
from eosfw_spark.source.offset_range_limit import EARLIEST, LATEST, Offsets

_UNITS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_DURATION: Final = re.compile(r"([0-9]+)([a-z]*)")
_TIME: Final = re.compile(r"[0-9]{1,18}")
_LARGEST: Final = 2**63 - 1
_NO_JSON: Final = (ValueError, TypeError, AttributeError, RecursionError)


def duration(text: str) -> float:
    """Seconds, from a number with a unit as Spark's configuration has them; without a unit it is in milliseconds."""
    found = _DURATION.fullmatch(text.strip().lower())
    unit = _UNITS.get(found[2] or "ms") if found else None
    if found is None or unit is None:
        raise ValueError(f"must be a number with one of the units {', '.join(_UNITS)}, such as 15m, not {text}")
    return int(found[1]) * unit


def timestamp(text: str) -> int:
    """Milliseconds since 1970."""
    if not _TIME.fullmatch(text.strip()):
        raise ValueError(f"must be milliseconds since 1970, not {text}")
    return int(text)


def partitions(text: str) -> tuple[TopicPartition, ...]:
    """Partitions, from JSON like `{"topic":[0,1]}`."""
    try:
        given = json.loads(text)
        found = {TopicPartition(topic, _integer(number)) for topic, numbers in given.items() for number in numbers}
    except _NO_JSON:
        raise ValueError(f'is not JSON like {{"topic":[0,1]}}: {text}') from None
    if not found:
        raise ValueError("names no partition")
    return tuple(sorted(found))


def offsets(text: str) -> Offsets:
    """Offsets, from JSON like `{"topic":{"0":23}}`."""
    try:
        found = _by_partition(text)
    except _NO_JSON:
        raise ValueError(f'must be JSON like {{"topic":{{"0":23}}}}, not {text}') from None
    for partition, offset in found.items():
        if offset < EARLIEST:
            raise ValueError(
                f"gives {partition} the offset {offset}; below 0 there are {LATEST}, the latest, "
                f"and {EARLIEST}, the earliest"
            )
    return found


def timestamps(text: str) -> Mapping[TopicPartition, int]:
    """Times in milliseconds since 1970, from JSON like `{"topic":{"0":1700000000000}}`."""
    try:
        found = _by_partition(text)
    except _NO_JSON:
        raise ValueError(f'must be JSON like {{"topic":{{"0":1700000000000}}}}, not {text}') from None
    for partition, time in found.items():
        if time < 0:
            raise ValueError(f"gives {partition} the time {time}; it must be milliseconds since 1970")
    return found


def _by_partition(text: str) -> Mapping[TopicPartition, int]:
    return {
        TopicPartition(topic, int(number)): _integer(value)
        for topic, numbers in json.loads(text).items()
        for number, value in numbers.items()
    }


def _integer(value: object) -> int:
    """A number as Kafka has them in 64 bits; a fraction is refused, not cut."""
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST:
        raise ValueError(value)
    return value


def offsets_json(given: Offsets) -> str:
    """Offsets as JSON, in the form of `startingOffsets` and `endingOffsets`."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(given.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(topics)
