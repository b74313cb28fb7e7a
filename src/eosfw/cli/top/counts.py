"""What workers count of each connector, from their metrics in Prometheus's text format."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

_SAMPLE: Final = re.compile(
    r"^kafka_connect_source_task_(?P<what>source_record_write|transactions)_total"
    r'\{connector="(?P<connector>(?:[^"\\]|\\.)*)".*\} (?P<value>\S+)$',
    re.MULTILINE,
)
_ESCAPE: Final = re.compile(r"\\(.)")


class Counts(NamedTuple):
    """What the tasks of a connector have done since they started."""

    records: float = 0.0
    transactions: float = 0.0


def counts_of(texts: Iterable[str]) -> Mapping[str, Counts]:
    """The counts of each connector, over the metrics of all workers."""
    found: dict[str, dict[str, float]] = defaultdict(
        lambda: dict.fromkeys(("source_record_write", "transactions"), 0.0)
    )
    for text in texts:
        for sample in _SAMPLE.finditer(text):
            name = _ESCAPE.sub(lambda escape: "\n" if escape[1] == "n" else escape[1], sample["connector"])
            found[name][sample["what"]] += float(sample["value"])
    return {name: Counts(*counts.values()) for name, counts in found.items()}


def rate(now: float, before: float, seconds: float) -> float | None:
    """What was counted per second; None after a restart, which counts from 0 again."""
    return (now - before) / seconds if seconds > 0 and now >= before else None
