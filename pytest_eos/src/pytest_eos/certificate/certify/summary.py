"""What `eosfw certify` prints: a short table, the witness of a failure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eosfw.text import quantity
from pytest_eos.certificate.evidence import FAULT, FENCED, KILL, ZOMBIE
from pytest_eos.certificate.readable_text import readable
from pytest_eos.certificate.simulated import happened

_WIDTH = 16
_LINES = 12
"""Lines of a witness on a terminal; the page has the rest."""


def summary(data: Mapping[str, Any]) -> Iterator[str]:
    """The lines of the table, then those of the witness."""
    yield f"{data['verdict']}: {readable(data['headline'])}"
    for one in data["connectors"]:
        yield from (f"  {name:<{_WIDTH}}{readable(text)}" for name, text in _rows(one, data["not_tried"]))
    if not data["witness"]:
        if data["verdict"] != "held":
            yield f"  {readable(data['why'])}"
        return
    first, *more = data["witness"]
    yield f"witness: {readable(first['sentence'] or first['test'])}"
    yield from (f"  {line}" for line in readable(first["why"]).splitlines()[:_LINES])
    if more:
        yield f"  and {len(more):,} more on the page"


def _rows(one: Mapping[str, Any], skipped: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    version = f" {one['version']}" if one["version"] else ""
    yield "connector", f"{one['name']}{version} ({one['connector']})"
    tests = ", ".join(f"{times:,} {outcome}" for outcome, times in one["tests"].items())
    yield "tests", f"{tests}; {quantity(one['comparisons'], 'time')} compared with the source"
    for name, kind, who in (
        ("zombies", ZOMBIE, ("task", "leader", "worker")),
        ("workers ended", KILL, ("task", "worker")),
        ("SIGKILL", KILL, ("worker process",)),
        ("faults", FAULT, ("broker",)),
    ):
        attempts = [each for each in one["attempts"] if each["kind"] == kind and each["who"] in who]
        if times := sum(each["times"] for each in attempts):
            fenced = sum(each["times"] for each in attempts if each["end"] == FENCED)
            yield name, f"{times:,}" + (f", {fenced:,} fenced, the others stopped by themselves" if fenced else "")
    if counts := one["simulation"]:
        reached = sum(map(bool, counts["states"].values()))
        yield "simulated", f"{happened(counts)}; {reached:,} of {len(counts['states']):,} rare states reached"
    for each in [*skipped, *one["not_tried"]]:
        yield "not tried", f"{each['what']}: {each['why']}"
