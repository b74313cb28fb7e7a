"""Show findings to people, to programs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from eosfw.cli.doctor.checks import Section, exit_code
from eosfw.health import Finding, Health

_MARKS: Mapping[Health, str] = {
    Health.FINE: "ok",
    Health.ABSENT: "-",
    Health.BROKEN: "BROKEN",
    Health.UNAVAILABLE: "UNREACHED",
}
_COLOURS: Mapping[Health, str] = {
    Health.FINE: "\x1b[32m",
    Health.ABSENT: "\x1b[2m",
    Health.BROKEN: "\x1b[1;31m",
    Health.UNAVAILABLE: "\x1b[1;33m",
}
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_WIDEST_SUBJECT = 28
_MARK_WIDTH = max(map(len, _MARKS.values()))


class Look(NamedTuple):
    """How a text is to look: how wide if it is to be wrapped, in colours or not."""

    width: int | None = None
    colours: bool = False


def as_text(sections: Sequence[Section], look: Look) -> str:
    """One line per finding under its heading, its remedy below, a summary."""
    subjects = [len(one.subject) for section in sections for one in section.findings]
    column = min(max(subjects, default=0), _WIDEST_SUBJECT)
    lines = []
    for section in sections:
        lines += [_painted(section.title, _BOLD, look)]
        lines += [line for one in section.findings for line in _lines(one, column, look)]
        lines += [""]
    return "\n".join([*lines, _summary(sections)])


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


def _lines(one: Finding, column: int, look: Look) -> Iterator[str]:
    indent = " " * (2 + _MARK_WIDTH + 2 + column + 2)
    mark = _painted(_MARKS[one.health].ljust(_MARK_WIDTH), _COLOURS[one.health], look)
    first, *more = _wrapped(one.found, look, len(indent))
    head = f"  {mark}  {one.subject.ljust(column)}"
    if len(one.subject) > column:  # too long for its column: what was found gets lines of its own
        yield head
        yield indent + first
    else:
        yield f"{head}  {first}"
    yield from (indent + line for line in more)
    if one.remedy:
        yield f"{indent}-> {one.remedy}"  # never wrapped: it may be a command to copy


def _wrapped(text: str, look: Look, indent: int) -> list[str]:
    lines = text.splitlines() or [""]
    if look.width is None:
        return lines
    width = max(look.width - indent, 30)
    return [
        part
        for line in lines
        for part in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    ]


def _painted(text: str, colour: str, look: Look) -> str:
    return f"{colour}{text}{_PLAIN}" if look.colours else text


def _summary(sections: Sequence[Section]) -> str:
    seen = [one.health for section in sections for one in section.findings]
    broken, gone, absent = map(seen.count, (Health.BROKEN, Health.UNAVAILABLE, Health.ABSENT))
    told = [_counted(broken, "is broken", "are broken")] if broken else ["nothing is broken"]
    told += [_counted(gone, "cannot be reached", "cannot be reached")] if gone else []
    told += [_counted(absent, "is optional, not installed", "are optional, not installed")] if absent else []
    text = "; ".join(told)
    return f"{text[0].upper()}{text[1:]}."


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
