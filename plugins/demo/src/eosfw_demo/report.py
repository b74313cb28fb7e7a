"""The report of a demo run, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from eosfw.observe import History, TaskStep
from eosfw.observe.timeline import text
from eosfw.text import quantity
from eosfw_demo.environment import DemoOptions
from eosfw_demo.sources import DemoSource, Findings, Plan
from eosfw_demo.zombie_scenario import ScenarioResult

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a run of the demo."""

    source: DemoSource
    options: DemoOptions
    subject: str
    plan: Plan
    scenario: ScenarioResult
    findings: Findings
    timeline: Path
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether nothing is duplicated or missing, the result is right, and the zombie was fenced."""
        verdict = self.findings.verdict
        clean = verdict.duplicates == 0 and verdict.missing == 0 and not self.findings.differences
        return clean and self.scenario.fencing is not None


def as_json(report: Report, history: History) -> Mapping[str, object]:
    """The report as JSON, with the names of `eosfw run --json` where both have a number."""
    scenario, findings = report.scenario, report.findings
    return {
        "records": history.records,
        "transactions": history.transactions,
        "zombies_fenced": history.zombies_fenced,
        "rows_out": findings.rows,
        "duplicates": findings.verdict.duplicates,
        "missing": findings.verdict.missing,
        "seconds": round(report.seconds, 3),
        "passed": report.passed,
        "exactly_once": report.options.exactly_once,
        "spark": report.options.spark,
        **findings.facts,
        "examples": list(findings.verdict.examples),
        "zombie": {
            "transactional_id": scenario.transactional_id if report.options.exactly_once else None,
            "generation": scenario.generations[0],
            "open_records": scenario.open_records,
            "error": _error(scenario),
        },
        "timeline": str(report.timeline),
        "output": str(findings.table),
    }


def show(report: Report, history: History, console: Console) -> None:
    """Print the report as text."""
    mode = "exactly once" if report.options.exactly_once else "at least once (exactly-once is off)"
    console.print(f"\n[bold]{report.subject}, one zombie[/] · {mode}\n")
    console.print(_event_table(report, history))
    console.print()
    drawn = text(history, [report.scenario.freeze], columns=min(console.width, 110), encoding=console.encoding)
    console.print(escape(drawn), highlight=False, soft_wrap=True)
    console.print()
    console.print(_numbers(report, history))
    for line in _findings(report):
        console.print(line, highlight=False, soft_wrap=True)


def _event_table(report: Report, history: History) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column()
    for at, what in _events(report, history):
        table.add_row(f"{at:.2f} s", what)
    return table


def _events(report: Report, history: History) -> Iterator[tuple[float, str]]:
    scenario, on = report.scenario, report.options.exactly_once
    zero = history.aggregation().first or scenario.started
    task, (first, second) = scenario.victim.task, scenario.generations
    yield scenario.started - zero, f"generation {first}: {report.plan.reads}"
    held = "in its open transaction" if on else "sent, their offsets not"
    yield (
        scenario.freeze.since - zero,
        f"task {task} is [bold]frozen[/]: {quantity(scenario.open_records, 'record')} {held}",
    )
    replaced = _last(history, TaskStep.WRITE_TASK_CONFIGS)
    if replaced is not None:
        yield (
            replaced - zero,
            f"generation {second} is to take over; generation {first} may stop",
        )
    fenced = _last(history, TaskStep.FENCE_ZOMBIES)
    if fenced is not None and scenario.fenced_ids:
        yield fenced - zero, f"the leader fences {_ids(scenario.fenced_ids)}"
    if scenario.freeze.until is not None:
        yield scenario.freeze.until - zero, f"the zombie is [bold]woken[/] and goes on as {escape(_name(report))}"
    if scenario.fencing is not None:
        yield scenario.fencing.at - zero, f"it is [bold]fenced[/]: [italic]{escape(_error(scenario) or 'no text')}[/]"
    else:
        yield history.aggregation().last - zero, "nobody ever [bold]fenced[/] it"


def _last(history: History, step: TaskStep) -> float | None:
    """The time of the last occurrence of a leader's step."""
    return max((event.at for event in history.aggregation().leader if event.step is step), default=None)


def _name(report: Report) -> str:
    scenario = report.scenario
    return scenario.transactional_id if report.options.exactly_once else f"task {scenario.victim.task}"


def _ids(ids: Sequence[str]) -> str:
    return escape(ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]} ({len(ids)} ids)")


def _error(scenario: ScenarioResult) -> str | None:
    return None if scenario.fencing is None else str(scenario.fencing.detail.get("error", ""))


def _numbers(report: Report, history: History) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim")
    findings = report.findings
    equal = f"{'NOT ' if findings.differences else ''}equal to {report.source.equal_to}"
    checker = "Spark" if report.options.spark else "our own reader"
    commits = "transactions" if report.options.exactly_once else "commits of offsets"
    table.add_row("records committed", f"{history.records:,}", f"in {history.transactions:,} {commits}")
    table.add_row("zombies fenced", f"{history.zombies_fenced:,}", "")
    table.add_row("duplicates", _count(findings.verdict.duplicates), f"counted by {checker}, by value")
    table.add_row("missing", _count(findings.verdict.missing), "")
    table.add_row("rows out", f"{findings.rows:,}", equal)
    table.add_row("seconds", f"{report.seconds:.1f}", "")
    return table


def _count(number: int | None) -> str:
    return "not verified" if number is None else f"{number:,}"


def _findings(report: Report) -> Iterator[str]:
    findings = report.findings
    yield ""
    if not report.passed:
        yield from (f"  [dim]for example[/]  {escape(line)}" for line in findings.verdict.examples[:_SHOWN])
        yield from (f"  [dim]differs[/]      {escape(line)}" for line in findings.differences[:_SHOWN])
        yield ""
    yield f"timeline  {escape(str(report.timeline))}   (open it in a browser)"
    yield f"result    {escape(str(findings.table))}"
    yield ""
    command = report.source.command
    if report.passed:
        yield f"[bold green]PASSED[/]  {report.source.success}, although a zombie tried"
        yield f"next: {command} --without-exactly-once   (the same zombie, unguarded)"
    elif report.options.exactly_once:
        yield "[bold red]FAILED[/]  see the numbers above"
    else:
        yield "[bold red]FAILED, as it must[/]  records and offsets are not committed together, nobody stops the zombie"
        yield f"next: {command}   (the same zombie, exactly once)"
