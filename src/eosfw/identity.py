"""The identity of a source's record, by which duplicates are counted.

A record is identified by its connector, source partition and source offset, which headers carry, or by something unique
in its value. The verdict compares the identities that were read with those that a replay of the source gives.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import is_
from typing import Any, Final

from eosfw.capabilities import Capabilities
from eosfw.errors import ConfigError, DamagedDataError, Problem, TaskFailedError
from eosfw.records import Headers, SourceOffset, SourcePartition
from eosfw.text import quantity

__all__ = [
    "CONNECTOR",
    "HEADER_NAMES",
    "KINDS",
    "NONE",
    "SOURCE_OFFSET",
    "SOURCE_PARTITION",
    "UNIDENTIFIED_SHOWN",
    "IdentityHeaders",
    "UnidentifiedRecords",
    "check_kind",
    "effective_identity_kind",
    "identity_headers",
    "identity_of",
    "identity_text",
]

CONNECTOR: Final = "eosfw.connector"
SOURCE_PARTITION: Final = "eosfw.source.partition"
SOURCE_OFFSET: Final = "eosfw.source.offset"
HEADER_NAMES: Final = (CONNECTOR, SOURCE_PARTITION, SOURCE_OFFSET)
_FIELD: Final = "field:"
UNIDENTIFIED_SHOWN: Final = 5
KINDS: Final = "`value`, `headers` or `field:NAME`"
NONE: Final = "none"
_EQUAL_ALIKE: Final = {str, int, bool, type(None)}
"""Types whose equal values have the same text; 0.0 and -0.0 are equal, but have not."""
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def check_kind(kind: str) -> None:
    """Raise ConfigError for a kind of identity that does not exist."""
    if kind in ("value", "headers") or (kind.startswith(_FIELD) and len(kind) > len(_FIELD)):
        return
    raise ConfigError(Problem("identity", f"no identity is called {kind!r}; write {KINDS}"))


def effective_identity_kind(named: str | None, capabilities: Capabilities) -> str:
    """The kind of identity of a connector: the one that it names, else headers where they cost little."""
    if named is not None:
        return named
    return "headers" if capabilities.batch_headers else NONE


class IdentityHeaders:
    """Makes the headers that identify a connector's records; equal for equal mappings whatever the order of keys.

    Raises TaskFailedError for mappings that JSON cannot say.
    """

    def __init__(self, connector: str) -> None:
        self._connector = (CONNECTOR, connector.encode())
        self._last: tuple[SourcePartition, dict[str, Any], Headers] | None = None

    def of(self, source_partition: SourcePartition, source_offset: SourceOffset) -> Headers:
        """The headers of one record."""
        return self.column([source_partition], [source_offset])[0]

    def column(
        self,
        source_partitions: Sequence[SourcePartition],
        source_offsets: Sequence[SourceOffset],
        headers: Sequence[Headers] | None = None,
    ) -> list[Headers]:
        """The headers of many records, behind those that they have."""
        offsets = _each_canonical(source_offsets)
        fronts = self._of_partitions(source_partitions)
        if headers is None:
            return [(*front, (SOURCE_OFFSET, offset)) for front, offset in zip(fronts, offsets, strict=False)]
        return [
            (*own, *front, (SOURCE_OFFSET, offset))
            for own, front, offset in zip(headers, fronts, offsets, strict=False)
        ]

    def _of_partitions(self, partitions: Sequence[SourcePartition]) -> Iterable[Headers]:
        if partitions and all(map(is_, partitions, repeat(partitions[0]))):
            return repeat(self._of_partition(partitions[0]))
        return map(self._of_partition, partitions)

    def _of_partition(self, partition: SourcePartition) -> Headers:
        last = self._last
        # Records of one partition come in runs: to compare is cheaper than to encode again.
        if last is not None and last[0] is partition and last[1] == partition:
            return last[2]
        headers = (self._connector, (SOURCE_PARTITION, _each_canonical([partition])[0]))
        self._last = (partition, dict(partition), headers)
        return headers


def identity_headers(connector: str, source_partition: SourcePartition, source_offset: SourceOffset) -> Headers:
    """The headers that identify one record."""
    return IdentityHeaders(connector).of(source_partition, source_offset)


def identity_of(value: bytes | None, headers: Headers | None, kind: str) -> bytes:
    """The bytes that identify a record; DamagedDataError when it does not carry such an identity."""
    if kind == "value":
        return value or b""
    if kind == "headers":
        return _from_headers(headers or ())
    check_kind(kind)
    return _from_field(value, kind.removeprefix(_FIELD))


@dataclass(slots=True)
class UnidentifiedRecords:
    """Records on a topic without an identity of the given kind: another application wrote them."""

    kind: str
    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        """Count one more record, at TOPIC-PARTITION@OFFSET."""
        self.count += 1
        if len(self.places) < UNIDENTIFIED_SHOWN:
            self.places.append(place)

    def refuse(self) -> None:
        """Raise DamagedDataError if there is any; such a record cannot be verified."""
        if self.count:
            where = ", ".join(self.places) + (", ..." if self.count > len(self.places) else "")
            raise DamagedDataError(
                f"{quantity(self.count, 'foreign record')} without identity ({self.kind}), at {where}: give the "
                f'connector topics of its own, or set "eosfw.identity" to what every record there has'
            )


def _from_headers(headers: Headers) -> bytes:
    # As Kafka's lastHeader does: a header that is repeated counts with its last value.
    found = dict(headers)
    parts = [found.get(name) for name in HEADER_NAMES]
    if None in parts:
        missing = ", ".join(name for name, part in zip(HEADER_NAMES, parts, strict=True) if part is None)
        raise DamagedDataError(f"a record has no identity: it lacks the headers {missing}")
    # JSON escapes NUL, so it can stand between the parts.
    return b"\0".join(part for part in parts if part is not None)


def _from_field(value: bytes | None, name: str) -> bytes:
    try:
        record = json.loads(value or b"")
    except (ValueError, RecursionError) as why:
        raise DamagedDataError(f"a record has no identity: its value is not JSON ({why})") from why
    if not isinstance(record, dict) or name not in record:
        raise DamagedDataError(f"a record has no identity: its value has no field {name!r}")
    return _canonical(record[name])


def _each_canonical(mappings: Sequence[SourcePartition | SourceOffset]) -> Sequence[bytes]:
    """The canonical JSON of each mapping. One call of the encoder for all: it costs more than the encoding itself."""
    try:
        objects = list(map(dict, mappings))
        if len(objects) > 1 and (numbered := _each_numbered(objects)) is not None:
            return numbered
        text = _ENCODER.encode(objects)[1:-1]
        # JSON escapes NUL, so it can stand between the objects, unless "},{" also stands inside of one.
        each: Iterable[str] = text.replace("},{", "}\0{").split("\0")
        if text.count("},{") != len(objects) - 1:
            each = map(_ENCODER.encode, objects)
        return [one.encode(errors="surrogatepass") for one in each]
    except (TypeError, ValueError) as why:
        raise TaskFailedError(f"a source partition or source offset cannot identify a record: {why}") from None


def _each_numbered(objects: Sequence[dict[str, Any]]) -> list[bytes] | None:
    """The same for objects that differ in one whole number alone, as the offsets of most sources do; else None."""
    first, last = objects[0], objects[-1]
    numbers: list[int] | None = None
    pieces = []
    for name in sorted(first) if set(map(type, first)) == {str} else ():
        column = [each.get(name, objects) for each in objects]  # no value is a list
        kinds = set(map(type, column))
        if kinds == {int} and numbers is None and first[name] != last.get(name):
            numbers, text = column, "%d"
        elif kinds <= _EQUAL_ALIKE and len(kinds) == 1 and column.count(first[name]) == len(column):
            text = _ENCODER.encode(first[name]).replace("%", "%%")
        else:
            return None
        pieces.append(_ENCODER.encode(name).replace("%", "%%") + ":" + text)
    if numbers is None or set(map(len, objects)) != {len(first)}:
        return None
    template = ("{" + ",".join(pieces) + "}").encode(errors="surrogatepass")
    return [template % number for number in numbers]


def _canonical(thing: Any) -> bytes:
    return _ENCODER.encode(thing).encode(errors="surrogatepass")


def identity_text(identity: bytes) -> str:
    """An identity for people: the parts of one from headers side by side."""
    return identity.replace(b"\0", b" ").decode(errors="backslashreplace")
