"""The page of a certificate: one HTML file without references, whose every value is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from eosfw.text import quantity
from pytest_eos.certificate.evidence import FAULT, KILL
from pytest_eos.certificate.readable_text import readable
from pytest_eos.certificate.simulated import happened
from pytest_eos.certificate.style import STYLE

_CLASSES = {"held": "held", "failed": "broken", "nothing shown": "open"}
_TITLES = {"held": "Exactly once", "failed": "Not exactly once", "nothing shown": "Nothing shown"}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Should a value ever escape its escaping, the browser still loads and runs nothing."""


def page(data: Mapping[str, Any]) -> str:
    """The page with the data of a certificate."""
    body = [
        *_head(data),
        *_witness(data["witness"]),
        *(line for one in data["connectors"] for line in _connector(one, alone=len(data["connectors"]) == 1)),
        *_skipped(data["not_tried"]),
        *_versions(data["versions"]),
        *_tests(data["tests"]),
        *_foot(),
    ]
    names = ", ".join(one["name"] for one in data["connectors"]) or "a connector"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(_TITLES[data['verdict']])}: {_text(names)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            *body,
            "</body>",
            "</html>\n",
        ]
    )


# --- values


def _text(value: object) -> str:
    return escape(readable(str(value)))


def _code(value: object) -> str:
    return f"<code>{_text(value)}</code>"


def _prose(value: object) -> str:
    """A sentence of ours, in which backticks mark code."""
    parts = _text(value).split("`")
    if len(parts) % 2 == 0:
        return "`".join(parts)
    return "".join(f"<code>{part}</code>" if odd % 2 else part for odd, part in enumerate(parts))


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()) -> Iterator[str]:
    """A table of cells that are HTML already."""
    right = [' class="number"' if column in numbers else "" for column in range(len(headings))]
    yield '<div class="scroll"><table><thead><tr>'
    yield "".join(f"<th{style}>{name}</th>" for style, name in zip(right, headings, strict=True))
    yield "</tr></thead><tbody>"
    for row in rows:
        yield f"<tr>{''.join(f'<td{style}>{cell}</td>' for style, cell in zip(right, row, strict=True))}</tr>"
    yield "</tbody></table></div>"


def _facts(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Names and values, both HTML already."""
    yield '<div class="scroll"><table class="facts"><tbody>'
    yield from (f'<tr><th scope="row">{name}</th><td>{value}</td></tr>' for name, value in rows)
    yield "</tbody></table></div>"


# --- sections


def _head(data: Mapping[str, Any]) -> Iterator[str]:
    names = ", ".join(one["name"] for one in data["connectors"])
    yield f"<h1>Certificate of exactly-once delivery{': ' + _text(names) if names else ''}</h1>"
    yield f'<p class="muted">Made by pytest-eos on {_text(data["made"].replace("T", " "))}.</p>'
    yield f'<div class="verdict {_CLASSES[data["verdict"]]}">'
    yield f"<p><strong>{_text(_TITLES[data['verdict']])}</strong></p>"
    yield f"<p>{_text(data['headline'])}. {_prose(data['why'])}</p></div>"


def _witness(witness: Sequence[Mapping[str, str]]) -> Iterator[str]:
    if not witness:
        return
    yield "<h2>The witness</h2>"
    yield "<p>What went wrong, as the failed tests tell it. Nothing below outweighs this.</p>"
    for one in witness:
        if one["test"]:
            yield f"<h3>{_text(one['sentence'] or one['test'])}</h3>"
            where = f"{_text(one['contract'])}, " if one["contract"] else ""
            yield f'<p class="muted">{where}{_code(one["test"])}</p>'
        yield f"<pre>{_text(one['why'])}</pre>"
        yield from _figure(one)


def _connector(one: Mapping[str, Any], *, alone: bool) -> Iterator[str]:
    if not alone:
        yield f"<h2>{_text(one['name'])}: {_text(one['verdict'])}</h2>"
        yield f"<p>{_prose(one['why'][:1].upper() + one['why'][1:])}</p>"
    level = "h2" if alone else "h3"
    yield f"<{level}>What was promised</{level}>"
    yield from _promised(one)
    yield f"<{level}>What was tried</{level}>"
    yield from _tried(one)
    yield from _simulated(one["simulation"], level)
    yield f"<{level}>The worst case survived</{level}>"
    yield from _worst_case(one["worst_case"])
    yield f"<{level}>What was not tried, and why</{level}>"
    yield from _table(("not tried", "why"), ((_text(each["what"]), _prose(each["why"])) for each in one["not_tried"]))


def _promised(one: Mapping[str, Any]) -> Iterator[str]:
    origin = (
        f"{_text(one['distribution'])} {_text(one['version'])}" if one["distribution"] else "no distribution has it"
    )
    facts = [
        ("connector", _text(one["name"])),
        ("class", _code(one["connector"])),
        ("from", origin),
    ]
    for each in one["promises"]:
        boundary = _code(each["transaction_boundary"]) if each["transaction_boundary"] else "unknown"
        facts.append(("exactly-once support", _code(each["exactly_once_support"])))
        facts.append(("transactions end", f"by {boundary}; boundaries of its own: {_text(each['boundaries'])}"))
    yield from _facts(dict.fromkeys(facts))
    yield (
        "<p>Exactly once means: each record of the source, and the source offset that leads behind it, become visible "
        "to readers of committed records together, once, in one transaction.</p>"
    )


def _tried(one: Mapping[str, Any]) -> Iterator[str]:
    tests = one["tests"]
    said = [f"{quantity(tests.get('passed', 0), 'test')} passed"]
    said += [f"{tests[name]:,} {name}" for name in ("failed", "skipped") if tests.get(name)]
    contracts = ", ".join(f"{quantity(times, 'test')} of {name}" for name, times in one["contracts"].items())
    yield f"<p>{_text(', '.join(said))}{_text(f' ({contracts})') if contracts else ''}. "
    if one["comparisons"]:
        times = quantity(one["comparisons"], "time")
        yield (
            f"All visible records were compared with those of the source {_text(times)}; the source was read again by "
            f"fresh tasks, or listed by the test{_with_least_rights(one)}.</p>"
        )
    else:
        yield "No test compared the visible records with those of the source.</p>"
    if not one["attempts"]:
        outside = " outside of simulated runs" if one["simulation"] else ""
        yield f"<p>No zombie was raised, nothing was killed, and no fault happened{outside}.</p>"
        return
    yield from _table(
        ("attempt", "when", "what became of it", "times"),
        (
            (
                _attempt(each),
                _moment(each),
                _text(each["end_in_words"]),
                f"{each['times']:,}",
            )
            for each in one["attempts"]
        ),
        numbers=(3,),
    )


def _with_least_rights(one: Mapping[str, Any]) -> str:
    times = one["comparisons_with_least_rights"]
    return f"; {_text(quantity(times, 'time'))} with a user's least rights on a cluster with ACLs" if times else ""


def _attempt(each: Mapping[str, Any]) -> str:
    if each["kind"] == FAULT:
        return "fault of the broker"
    if each["kind"] == KILL:
        return "worker ended" if each["who"] == "task" else f"SIGKILL of a {_text(each['who'])}"
    return f"zombie {_text(each['who'])}"


def _moment(each: Mapping[str, Any]) -> str:
    if not each["at"]:
        return "at any moment"
    words = f"<br>{_text(each['at_in_words'])}" if each["at_in_words"] else ""
    return f"{_code(each['at'])}{words}"


def _simulated(counts: Mapping[str, Any] | None, level: str) -> Iterator[str]:
    """What simulated tests have seen; nothing where there is none."""
    if counts is None:
        return
    yield f"<{level}>What was simulated</{level}>"
    events = f"{counts['events']:,} turns and steps"
    yield (
        f"<p>{_text(happened(counts))}, with {_text(events)} of workers, leaders, tasks and broker. In each run a seed "
        "draws who goes on when, and what goes wrong; once that is over, each record of the source has to be there "
        "once and in order.</p>"
    )
    yield from _table(
        ("fault", "drawn", "happened"),
        ((_code(kind), f"{drawn:,}", f"{counts['fired'][kind]:,}") for kind, drawn in sorted(counts["drawn"].items())),
        numbers=(1, 2),
    )
    yield from _table(
        ("rare state", "runs that reached it"),
        ((_text(state), f"{reached:,}" if reached else "none") for state, reached in counts["states"].items()),
        numbers=(1,),
    )


def _worst_case(one: Mapping[str, str] | None) -> Iterator[str]:
    if one is None:
        yield "<p>There is none: nothing was tried that has a picture.</p>"
        return
    yield f"<p>{_text(one['sentence'][:1].upper() + one['sentence'][1:])} ({_code(one['test'])}).</p>"
    yield from _figure(one)


def _figure(one: Mapping[str, str]) -> Iterator[str]:
    if one.get("svg"):
        # Drawn by eosfw, which escapes every name and error in it.
        yield f"<figure>{readable(one['svg'])}</figure>"


def _skipped(not_tried: Sequence[Mapping[str, str]]) -> Iterator[str]:
    if not_tried:
        yield "<h2>Tests that did not run</h2>"
        yield from _table(("test", "why"), ((_text(one["what"]), _text(one["why"])) for one in not_tried))


def _versions(versions: Mapping[str, str]) -> Iterator[str]:
    yield "<h2>Versions</h2>"
    yield from _facts((_text(name), _text(known)) for name, known in versions.items())


def _tests(tests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "<h2>Every test</h2>"
    if not tests:
        yield "<p>There was none.</p>"
        return
    yield from _table(
        ("test", "outcome", "attempts", "seconds"),
        ((_code(one["test"]), _text(one["outcome"]), f"{one['attempts']:,}", f"{one['seconds']:.2f}") for one in tests),
        numbers=(2, 3),
    )


def _foot() -> Iterator[str]:
    yield (
        '<p class="muted">A zombie is a task that stands still, is replaced by a newer one, and then wakes up. This '
        "page says what happened in one run of tests; it cannot speak for what was not tried. The same data is in the "
        "JSON file beside it.</p>"
    )
