"""Assert that every record appears once, or say what is wrong and where it comes from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from eosfw.errors import DamagedDataError
from eosfw.identity import check_kind, identity_headers, identity_of
from eosfw.records import SourceRecord
from pytest_eos.columns import is_frame, is_kind, usual_key
from pytest_eos.difference import Difference, compare, repeated
from pytest_eos.explaining import Findings, explanation
from pytest_eos.frames import compare_frame, duplicates_in_frame
from pytest_eos.pipeline import Output, as_rows
from pytest_eos.run import Record, Run, Topic

if TYPE_CHECKING:
    from pytest_eos.lab import Eos


_Counts = dict[str, Counter[bytes]]


def assert_exactly_once(seen: Any, expected: Any, *, key: Any = None, lab: Eos | None = None) -> None:
    """Assert that `seen` holds every expected record once and nothing else; explain what is wrong.

    `seen` is a Run, a Topic, a DataFrame or a step's Output. `expected` is a list of SourceRecords
    (`run.source_records()`), of values, of rows as mappings (of an Output), or a DataFrame with the columns of the key.
    `key` says what identifies a record: "headers" (default where SourceRecords are expected), "value" (default
    otherwise), "field:NAME" of a JSON value, or columns of a DataFrame (default where mappings are expected: theirs).
    Rows whose key is null count as one and the same. A DataFrame is counted in Spark; examples alone come here.

    AssertionError explains what is wrong. ValueError: the expected data is not unique, or a column does not exist.
    TypeError: the expected values do not fit the key.
    """
    __tracebackhide__ = True
    if isinstance(seen, Output):
        expected, key = as_rows(expected, key)
    found = _judged(_opened(seen), expected, key, lab)
    _raise_if(found, seen)


def assert_no_duplicates(seen: Any, *, key: Any = None, lab: Eos | None = None) -> None:
    """Assert that no record appears twice in a Run, a Topic or a DataFrame; explain where they come from."""
    __tracebackhide__ = True
    judged, seen = seen, _opened(seen)
    kind = key or ("headers" if isinstance(seen, Run) else "value")
    if is_frame(seen):
        difference = duplicates_in_frame(seen, kind)
    else:
        counts = _counted(seen, kind)[kind]
        difference = compare(counts, Counter(dict.fromkeys(counts, 1)))
    _raise_if(Findings(seen, difference, kind, _lab(seen, lab)), judged)


def _opened(seen: Any) -> Any:
    return seen.dataframe() if isinstance(seen, Output) else seen


def _judged(seen: Any, expected: Any, key: Any, lab: Eos | None) -> Findings:
    if not is_frame(expected):
        expected = list(expected)
    sources = not is_frame(expected) and bool(expected) and all(isinstance(one, SourceRecord) for one in expected)
    kind = key or usual_key(seen, expected)
    name = _connector(seen, lab)
    both_ways = sources and kind == "headers"
    counted = None
    if not (is_frame(seen) or is_frame(expected)):
        counted = _counted(seen, *((kind, "value") if both_ways else (kind,)))
    difference = _compared(seen, expected, kind, name, counted)
    findings = Findings(seen, difference, kind, _lab(seen, lab), name, expected if sources else ())
    if both_ways and not difference:
        # Same identities: are they the same records, too? A source that cannot be replayed shows here.
        findings.changed = _compared(seen, expected, "value", name, counted, may_repeat=True)
    return findings


def _compared(
    seen: Any, expected: Any, kind: Any, connector: str, counted: _Counts | None, *, may_repeat: bool = False
) -> Difference:
    if is_frame(expected) and not is_frame(seen):
        raise TypeError("a DataFrame can be expected of a DataFrame alone: judge `run.dataframe(eos_spark)`")
    if is_frame(expected) or (is_frame(seen) and not is_kind(kind, seen)):
        return compare_frame(seen, expected, kind)
    due = due_counts(expected, kind, connector)
    if not may_repeat and (complaint := repeated(due)):
        raise ValueError(complaint)
    return compare_frame(seen, due, kind) if counted is None else compare(counted[kind], due)


def due_counts(expected: Iterable[Any], kind: str, connector: str) -> Counter[bytes]:
    """How often each identity should appear."""
    return Counter(expected_identity(one, kind, connector) for one in expected)


def expected_identity(one: Any, kind: str, connector: str) -> bytes:
    """The identity of something expected: a SourceRecord, or the identity's own bytes or text."""
    if isinstance(one, SourceRecord):
        headers = one.headers
        if kind == "headers":
            headers += identity_headers(connector, one.source_partition, one.source_offset)
        return identity_of(one.value, headers, kind)
    if isinstance(one, bytes | None):
        return one or b""
    if kind.startswith("field:"):
        return identity_of(json.dumps({kind.removeprefix("field:"): one}).encode(), None, kind)
    return str(one).encode()


def _counted(seen: Topic, *kinds: str) -> _Counts:
    """How often each identity of each kind was seen, in one read."""
    counts: _Counts = {}
    for kind in kinds:
        check_kind(kind)
        counts[kind] = Counter()
    for record in seen.records():
        for kind, count in counts.items():
            count[seen_identity(record, kind)] += 1
    return counts


def seen_identity(record: Record, kind: str) -> bytes:
    """The identity of a record that was read; one without any counts as one that nobody expects."""
    try:
        return identity_of(record.value, record.headers, kind)
    except DamagedDataError:
        return b""


def _connector(seen: Any, lab: Eos | None) -> str:
    if isinstance(seen, Run):
        return seen.name
    return lab.last_run.name if lab is not None and lab.last_run is not None else ""


def _lab(seen: Any, lab: Eos | None) -> Eos | None:
    return seen.lab if isinstance(seen, Topic) else lab


def _raise_if(found: Findings, judged: Any) -> None:
    __tracebackhide__ = True
    found.name = str(judged) if isinstance(judged, Topic | Output) else found.name
    if not found.anything:
        return
    if found.lab is not None:
        found.lab.tally.duplicates += found.difference.duplicates + found.difference.unexpected
        found.lab.tally.missing += found.difference.missing
    raise AssertionError(explanation(found))
