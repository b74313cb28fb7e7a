"""Findings as text for people, as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from eosfw.cli.doctor.checks import Section, exit_code
from eosfw.cli.output.console import TerminalStyle, draw
from eosfw.health import Finding, Health

_MARKS: Mapping[Health, Text] = {
    Health.FINE: Text("ok", "green"),
    Health.ABSENT: Text("-", "dim"),
    Health.BROKEN: Text("BROKEN", "bold red"),
    Health.UNAVAILABLE: Text("UNREACHED", "bold yellow"),
}
_MARK_WIDTH = max(len(mark) for mark in _MARKS.values())
_INDENT = 2
_WIDEST_SUBJECT = 28
"""Columns of a terminal for subjects; a longer one is wrapped."""


def as_text(sections: Sequence[Section], style: TerminalStyle) -> str:
    """One line per finding under its heading, its remedy below, a summary."""
    return draw(_renderables(sections, _subject_width(sections, style)), style)


def as_json(sections: Sequence[Section]) -> str:
    """One JSON object: every finding in order, and the exit code."""
    findings = [
        {
            "section": section.title,
            "subject": one.subject,
            "health": one.health.value,
            "found": one.found,
            "remedy": one.remedy,
        }
        for section in sections
        for one in section.findings
    ]
    return json.dumps({"findings": findings, "exit_code": int(exit_code(sections))})


def _subject_width(sections: Sequence[Section], style: TerminalStyle) -> int:
    widest = max((cell_len(one.subject) for section in sections for one in section.findings), default=0)
    return widest if style.width is None else min(widest, _WIDEST_SUBJECT, style.width // 3)


def _renderables(sections: Sequence[Section], subject_width: int) -> Iterator[RenderableType]:
    for section in sections:
        yield Text(section.title, "bold")
        for one in section.findings:
            yield _row(one, subject_width)
            if one.remedy:
                yield _remedy(one, subject_width)
        yield ""
    yield Text(_summary(sections))


def _row(finding: Finding, subject_width: int) -> RenderableType:
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_column(width=_MARK_WIDTH)
    row.add_column(width=subject_width, overflow="fold")
    row.add_column(overflow="fold")
    row.add_row(_MARKS[finding.health], Text(finding.subject), Text(finding.found))
    return Padding(row, (0, 0, 0, _INDENT), expand=False)


def _remedy(finding: Finding, subject_width: int) -> Text:
    """The remedy in one line, whatever the width: it may be a command, which users copy."""
    indent = _INDENT + _MARK_WIDTH + 2 + subject_width + 2
    return Text(f"{' ' * indent}-> {finding.remedy}", no_wrap=True, overflow="ignore")


def _summary(sections: Sequence[Section]) -> str:
    seen = [one.health for section in sections for one in section.findings]
    broken, gone, absent = map(seen.count, (Health.BROKEN, Health.UNAVAILABLE, Health.ABSENT))
    parts = [_counted(broken, "is broken", "are broken")] if broken else ["nothing is broken"]
    parts += [_counted(gone, "cannot be reached", "cannot be reached")] if gone else []
    parts += [_counted(absent, "is optional, not installed", "are optional, not installed")] if absent else []
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
