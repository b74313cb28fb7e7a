"""A summary of many failures: the cause of the first one, and how many others share it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

_KIND = re.compile(r"^(Failed|AssertionError): ")
_TASK = re.compile(r"\btask \S+-\d+")
_VARYING = re.compile(r"0x[0-9a-f]+|eos-[0-9a-f]{4,}|\d+")
"""Parts of a message that differ from test to test although the cause is the same."""
_PLURAL = re.compile(r"# (\w+?)s?\b")
_SHOWN = 3
_WIDTH = 300


def mark(report: pytest.TestReport) -> None:
    """Mark a report for the summary; pytest-xdist keeps the attribute when it sends the report."""
    report.eos = True  # type: ignore[attr-defined]


def lines(reports: Sequence[Any]) -> list[str]:
    """The lines of the summary of marked reports; none for a single failure, which needs no summary."""
    marked = [report for report in reports if getattr(report, "eos", False)]
    if len(marked) <= 1:
        return []
    first, *more = marked
    cause = first_line(first)
    alike, core = 0, _normalized(cause)
    other_causes: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for report in more:
        if core in _normalized(report.longreprtext):
            alike += 1
        else:
            kind = _normalized(first_line(report))
            other_causes[kind] += 1
            examples.setdefault(kind, first_line(report))
    summary = [f"first cause of {len(marked)} failures: {cause}", f"  in {first.nodeid}"]
    summary.append(f"  the same cause in {alike} more, other causes in {other_causes.total()}")
    summary += [f"    {count} of them: {examples[kind]}" for kind, count in other_causes.most_common(_SHOWN)]
    return summary


def first_line(report: Any) -> str:
    """The first line of a failure's message."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = _KIND.sub("", (report.longreprtext if crash is None else crash.message).strip())
    return text.splitlines()[0][:_WIDTH] if text else "nothing was said"


def _normalized(text: str) -> str:
    return _PLURAL.sub(r"# \1", _VARYING.sub("#", _TASK.sub("task", text)))
