"""Tell one record of a source from every other, so that repeats can be counted.

A record is identified by (connector, source partition, source offset), carried as headers, or by something unique in
its own value. Both sides of a verdict, what was read back, what a replay of the source expects, come through here.
"""

from __future__ import annotations

import json
from typing import Any, Final

from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw.records import Headers, SourceOffset, SourcePartition

CONNECTOR: Final = "eosfw.connector"
SOURCE_PARTITION: Final = "eosfw.source.partition"
SOURCE_OFFSET: Final = "eosfw.source.offset"
HEADER_NAMES: Final = (CONNECTOR, SOURCE_PARTITION, SOURCE_OFFSET)
_FIELD: Final = "field:"
KINDS: Final = "`value`, `headers` or `field:NAME`"


def check_kind(kind: str) -> None:
    """Refuse a kind of identity that does not exist with a ConfigError."""
    if kind in ("value", "headers") or (kind.startswith(_FIELD) and len(kind) > len(_FIELD)):
        return
    raise ConfigError(Problem("identity", f"no identity is called {kind!r}; write {KINDS}"))


def identity_headers(connector: str, source_partition: SourcePartition, source_offset: SourceOffset) -> Headers:
    """The headers that identify a record; equal for equal mappings whatever the order of their keys."""
    return (
        (CONNECTOR, connector.encode()),
        (SOURCE_PARTITION, _canonical(dict(source_partition))),
        (SOURCE_OFFSET, _canonical(dict(source_offset))),
    )


def identity_of(value: bytes | None, headers: Headers | None, kind: str) -> bytes:
    """The bytes that identify a record; DamagedDataError when it does not carry such an identity."""
    if kind == "value":
        return value or b""
    if kind == "headers":
        return _from_headers(headers or ())
    check_kind(kind)
    return _from_field(value, kind.removeprefix(_FIELD))


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
    except ValueError as why:
        raise DamagedDataError(f"a record has no identity: its value is not JSON ({why})") from why
    if not isinstance(record, dict) or name not in record:
        raise DamagedDataError(f"a record has no identity: its value has no field {name!r}")
    return _canonical(record[name])


def _canonical(thing: Any) -> bytes:
    return json.dumps(thing, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode(errors="surrogatepass")
