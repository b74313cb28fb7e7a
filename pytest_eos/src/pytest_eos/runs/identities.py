"""The identities of records: of those that were read and of those that are expected."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eosfw.errors import DamagedDataError
from eosfw.identity import check_kind, identity_headers, identity_of
from eosfw.records import SourceRecord
from pytest_eos.runs.record import Record
from pytest_eos.runs.run import Topic

JSON_VALUE = "value, as JSON"
"""The kind of identity if mappings are expected: JSON values are compared, not their bytes."""
Counts = dict[str, Counter[bytes]]


def expected_counts(expected: Iterable[Any], kind: str, connector: str) -> Counter[bytes]:
    """How often each identity is expected."""
    return Counter(expected_identity(one, kind, connector) for one in expected)


def expected_identity(one: Any, kind: str, connector: str) -> bytes:
    """The identity of an expected SourceRecord, record of another topic, mapping, bytes or text."""
    if isinstance(one, SourceRecord):
        headers = one.headers
        if kind == "headers":
            headers += identity_headers(connector, one.source_partition, one.source_offset)
        return _as_json(one.value) if kind == JSON_VALUE else identity_of(one.value, headers, kind)
    if isinstance(one, Record):
        return seen_identity(one, kind)
    if isinstance(one, Mapping):
        return _of_mapping(one, kind)
    if kind == JSON_VALUE:
        raise TypeError(
            f"some of what is to be judged are mappings, {one!r:.80} is none: pass mappings, or bytes, alone"
        )
    if isinstance(one, bytes | None):
        return one or b""
    if kind.startswith("field:"):
        return identity_of(json.dumps({kind.removeprefix("field:"): one}).encode(), None, kind)
    return str(one).encode()


def seen_identity(record: Record, kind: str) -> bytes:
    """The identity of a record that was read; empty, which is never expected, if it has none."""
    try:
        return _as_json(record.value) if kind == JSON_VALUE else identity_of(record.value, record.headers, kind)
    except (DamagedDataError, ValueError):
        return b""


def count_identities(seen: Topic | Sequence[Any], *kinds: str) -> Counts:
    """How often each identity of each kind was seen; the records are read once."""
    counts: Counts = {}
    for kind in kinds:
        if kind != JSON_VALUE:
            check_kind(kind)
        counts[kind] = Counter()
    for record in seen.records() if isinstance(seen, Topic) else seen:
        for kind, count in counts.items():
            known = isinstance(record, Record)
            count[seen_identity(record, kind) if known else expected_identity(record, kind, "")] += 1
    return counts


def repeated_source_offsets(expected: Sequence[Any], due: Counter[bytes], kind: str, connector: str) -> str | None:
    """The message for a source that gives several records one source offset; None if it does not."""
    if kind != "headers":
        return None
    for one in expected:
        if isinstance(one, SourceRecord) and (times := due[expected_identity(one, kind, connector)]) > 1:
            return (
                f"the source gives {times} records one source offset, {dict(one.source_offset)} of source partition "
                f"{dict(one.source_partition)}: each record needs an offset of its own, by which it is told apart"
            )
    return None


def _of_mapping(one: Mapping[str, Any], kind: str) -> bytes:
    if kind == JSON_VALUE:
        return _canonical(one)
    if kind.startswith("field:"):
        return identity_of(json.dumps(dict(one)).encode(), None, kind)
    raise TypeError(
        f"mappings cannot be told apart by {kind}: pass bytes (json.dumps(...).encode()), or leave `key` out, and JSON "
        f'values are compared; or key="field:NAME"'
    )


def _as_json(value: bytes | None) -> bytes:
    return b"" if value is None else _canonical(json.loads(value))


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
