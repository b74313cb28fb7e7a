"""Assert that every record appears once, or say what is wrong and where it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from eosfw.records import SourceRecord
from pytest_eos.environment.config.markers import suggestion
from pytest_eos.runs.identities import JSON_VALUE, Counts, count_identities, expected_counts, repeated_source_offsets
from pytest_eos.runs.pipeline import Output, as_rows
from pytest_eos.runs.queries.dataframe_keys import default_key, is_frame, is_kind
from pytest_eos.runs.queries.targets import KINDS, frame_of_folder, is_folder, is_query, target_of_query
from pytest_eos.runs.record import Record
from pytest_eos.runs.run import Run, Topic
from pytest_eos.runs.run_harness import RunHarness
from pytest_eos.verdict.dataframe_comparison import compare_frame, duplicates_in_frame
from pytest_eos.verdict.difference import Difference, compare, not_unique
from pytest_eos.verdict.explanation import Findings, explanation, nothing_compared
from pytest_eos.verdict.record_order import order_message, out_of_order

_NOT_LISTS = (Topic, Output, str, bytes, Mapping)


def assert_exactly_once(
    seen: Any,
    expected: Any,
    *,
    key: Any = None,
    ordered: bool = False,
    eos: RunHarness | None = None,
    allow_empty: bool = False,
) -> None:
    """Assert that `seen` holds every expected record once and nothing else; explain what is wrong.

    `seen` is a Run, a Topic, a DataFrame, a step's Output, a folder of parquet, CSV, JSON or Delta files (a Path, or a
    text with a slash), a streaming query (what its sink holds of finished batches), or a list of records or values.
    `expected` is a list of SourceRecords (`run.source_records()`), of records of another topic
    (`eos.topic(NAME).records()`), of values, of mappings (rows of a DataFrame, or JSON values of records), or a
    DataFrame with the columns of the key. `ordered`: in each partition of a topic, the records of one source partition
    have to be in its order, too. `key` says what identifies a record: "headers" (default where SourceRecords
    are expected), "value" (default otherwise), "field:NAME" of a JSON value, or columns of a DataFrame (default where
    mappings are expected: theirs). All rows whose key is null have one identity. A DataFrame is counted in Spark; only
    examples are collected.

    AssertionError explains what is wrong. It is raised as well if nothing was seen and nothing is expected, or if a
    topic does not exist, unless `allow_empty` is true. ValueError: the expected data is not unique, or a column does
    not exist. TypeError: the expected values do not fit the key, or `seen` is none of the above.
    """
    __tracebackhide__ = True
    original, seen = seen, _resolved(seen, allow_empty=allow_empty)
    if ordered and not isinstance(seen, Topic):
        raise TypeError(f"rows of {_name(original)} have no order: judge `ordered` of a run or a topic")
    _require_rows(expected)
    if is_frame(seen):
        expected, key = as_rows(expected, key)
    else:
        expected = expected if is_frame(expected) else list(expected)
    found = _compare(seen, expected, key, eos)
    _raise_on_difference(found, original, allow_empty=allow_empty)
    if ordered and (wrong := out_of_order(seen.records(), expected, found.kind, found.connector)):
        raise AssertionError(order_message(found.name, wrong))
    if found.eos is not None and found.difference.compared:
        found.eos.comparisons += 1


def assert_no_duplicates(
    seen: Any, *, key: Any = None, eos: RunHarness | None = None, allow_empty: bool = False
) -> None:
    """Assert that no record appears twice in what `assert_exactly_once` judges; explain where they come from.

    AssertionError is raised as well if there are no records at all, unless `allow_empty` is true.
    """
    __tracebackhide__ = True
    original, seen = seen, _resolved(seen, allow_empty=allow_empty)
    kind = key or ("headers" if isinstance(seen, Run) else "value")
    if is_frame(seen):
        difference = duplicates_in_frame(seen, kind)
    else:
        counts = count_identities(seen, kind)[kind]
        difference = compare(counts, Counter(dict.fromkeys(counts, 1)))
    _raise_on_difference(Findings(seen, difference, kind, _eos(seen, eos)), original, allow_empty=allow_empty)


def _resolved(seen: Any, *, allow_empty: bool) -> Any:
    """What can be compared: a DataFrame, a Topic, a list."""
    __tracebackhide__ = True
    if is_query(seen):
        seen = target_of_query(seen)
    written = seen.options if isinstance(seen, Output) else None
    if isinstance(seen, Output):
        seen = seen.path
    if is_folder(seen):
        try:
            return frame_of_folder(Path(seen), written=written)
        except AssertionError:
            if not allow_empty:
                raise
            return []
    _require_comparable(seen, allow_empty=allow_empty)
    return seen


def _require_comparable(seen: Any, *, allow_empty: bool) -> None:
    """Raise TypeError for an argument of another kind, AssertionError for topics that do not exist."""
    __tracebackhide__ = True
    rows = isinstance(seen, list | tuple) and any(type(one).__name__ == "Row" for one in seen[:1])
    if rows or not (is_frame(seen) or isinstance(seen, Topic | list | tuple)):
        what = (
            "rows that Spark collected: pass the DataFrame itself" if rows else f"a {type(seen).__name__}: {seen!r:.80}"
        )
        raise TypeError(f"{KINDS} can be judged, not {what}")
    if allow_empty or isinstance(seen, Run) or not isinstance(seen, Topic):
        return
    with closing(seen.eos.backend.admin()) as admin:
        known = list(admin.partitions())
    for topic in seen.topics:
        if topic not in known:
            raise AssertionError(
                f"topic {topic} does not exist, so nothing in it was judged; if that is meant: allow_empty=True"
                f"{suggestion(topic, known, dashes=False)}"
            )


def _require_rows(expected: Any) -> None:
    """Raise TypeError for what is neither a DataFrame nor a list of expected rows."""
    __tracebackhide__ = True
    if isinstance(expected, _NOT_LISTS) or not (is_frame(expected) or isinstance(expected, Iterable)):
        raise TypeError(
            f"expected is {expected!s:.80}: pass a list, say `run.source_records()`, values, or a DataFrame"
        )


def _compare(seen: Any, expected: Any, key: Any, eos: RunHarness | None) -> Findings:
    if not is_frame(expected):
        expected = list(expected)
    sources = not is_frame(expected) and bool(expected) and all(isinstance(one, SourceRecord) for one in expected)
    placed = sources or (isinstance(expected, list) and all(isinstance(one, Record) for one in expected))
    kind = key or _default_key(seen, expected)
    name = _connector(seen, eos)
    both_ways = sources and kind == "headers"
    counts = None
    if not (is_frame(seen) or is_frame(expected)):
        counts = count_identities(seen, *((kind, "value") if both_ways else (kind,)))
    difference = _difference(seen, expected, kind, name, counts)
    findings = Findings(seen, difference, kind, _eos(seen, eos), name, expected if placed else ())
    if both_ways and not difference:
        # The identities agree. If the values differ, the source gave other records in the replay.
        findings.changed = _difference(seen, expected, "value", name, counts, may_repeat=True)
    return findings


def _default_key(seen: Any, expected: Any) -> Any:
    if isinstance(seen, list | tuple) and not all(isinstance(one, Record) for one in seen):
        return JSON_VALUE if seen and all(isinstance(one, Mapping) for one in seen) else "value"
    mappings = bool(expected) and not is_frame(expected) and all(isinstance(one, Mapping) for one in expected)
    return JSON_VALUE if mappings and not is_frame(seen) else default_key(seen, expected)


def _difference(
    seen: Any, expected: Any, kind: Any, connector: str, counts: Counts | None, *, may_repeat: bool = False
) -> Difference:
    if is_frame(expected) and not is_frame(seen):
        raise TypeError("a DataFrame can be expected of a DataFrame alone: judge `run.dataframe(eos_spark)`")
    if is_frame(expected) or (is_frame(seen) and not is_kind(kind, seen)):
        return compare_frame(seen, expected, kind)
    due = expected_counts(expected, kind, connector)
    if not may_repeat and (complaint := repeated_source_offsets(expected, due, kind, connector) or not_unique(due)):
        raise ValueError(complaint)
    return compare_frame(seen, due, kind) if counts is None else compare(counts[kind], due)


def _connector(seen: Any, eos: RunHarness | None) -> str:
    if isinstance(seen, Run):
        return seen.name
    return eos.last_run.name if eos is not None and eos.last_run is not None else ""


def _eos(seen: Any, eos: RunHarness | None) -> RunHarness | None:
    return seen.eos if isinstance(seen, Topic) and isinstance(seen.eos, RunHarness) else eos


def _name(original: Any) -> str:
    if is_frame(original):
        return "the DataFrame"
    if is_query(original):
        return f"what query {original.name or original.id} wrote"
    if isinstance(original, Topic | Output):
        return str(original)
    return f"folder {original}" if is_folder(original) else "the list"


def _raise_on_difference(found: Findings, original: Any, *, allow_empty: bool) -> None:
    __tracebackhide__ = True
    found.name = _name(original)
    if not (found.anything or found.difference.compared or allow_empty):
        raise AssertionError(nothing_compared(found))
    if not found.anything:
        return
    if found.eos is not None:
        found.eos.statistics.duplicates += found.difference.duplicates
        found.eos.statistics.unexpected += found.difference.unexpected
        found.eos.statistics.missing += found.difference.missing
    raise AssertionError(explanation(found))
