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
from eosfw_demo.verification import VerificationResult
from eosfw_demo.zombie_scenario import SUCCESSOR_TASKS, TASKS, ScenarioResult

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a run of the demo."""

    options: DemoOptions
    flights: int
    scenario: ScenarioResult
    result: VerificationResult
    differences: Sequence[str]
    """Where the aggregation of the committed records differs from that of the CSV."""
    timeline: Path
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether nothing is duplicated or missing, the aggregation is right, and the zombie was fenced."""
        verdict = self.result.verdict
        clean = verdict.duplicates == 0 and verdict.missing == 0 and not self.differences
        return clean and self.scenario.fencing is not None


def as_json(report: Report, history: History) -> Mapping[str, object]:
    """The report as JSON, with the names of `eosfw run --json` where both have a number."""
    scenario = report.scenario
    return {
        "records": history.records,
        "transactions": history.transactions,
        "zombies_fenced": history.zombies_fenced,
        "rows_out": len(report.result.rows),
        "duplicates": report.result.verdict.duplicates,
        "missing": report.result.verdict.missing,
        "seconds": round(report.seconds, 3),
        "passed": report.passed,
        "exactly_once": report.options.exactly_once,
        "spark": report.options.spark,
        "flights": report.flights,
        "aggregation_equal": not report.differences,
        "examples": list(report.result.verdict.examples),
        "zombie": {
            "transactional_id": scenario.transactional_id if report.options.exactly_once else None,
            "generation": scenario.generations[0],
            "open_records": scenario.open_records,
            "error": _error(scenario),
        },
        "timeline": str(report.timeline),
        "output": str(report.result.table),
    }


def show(report: Report, history: History, console: Console) -> None:
    """Print the report as text."""
    mode = "exactly once" if report.options.exactly_once else "at least once (exactly-once is off)"
    console.print(f"\n[bold]{report.flights:,} flights, {TASKS} tasks, one zombie[/] · {mode}\n")
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
    yield scenario.started - zero, f"generation {first}: {TASKS} tasks start on {TASKS} files"
    held = "in its open transaction" if on else "sent, their offsets not"
    yield (
        scenario.freeze.since - zero,
        f"task {task} is [bold]frozen[/]: {quantity(scenario.open_records, 'record')} {held}",
    )
    replaced = _last(history, TaskStep.WRITE_TASK_CONFIGS)
    if replaced is not None:
        yield (
            replaced - zero,
            f"generation {second} with {SUCCESSOR_TASKS} tasks is to take over; generation {first} may stop",
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
    equal = "equal to the same aggregation of the CSV" if not report.differences else "NOT what the CSV gives"
    checker = "Spark" if report.options.spark else "our own reader"
    commits = "transactions" if report.options.exactly_once else "commits of offsets"
    table.add_row("records committed", f"{history.records:,}", f"in {history.transactions:,} {commits}")
    table.add_row("zombies fenced", f"{history.zombies_fenced:,}", "")
    table.add_row("duplicates", _count(report.result.verdict.duplicates), f"counted by {checker}, by value")
    table.add_row("missing", _count(report.result.verdict.missing), "")
    table.add_row("rows out", f"{len(report.result.rows):,}", equal)
    table.add_row("seconds", f"{report.seconds:.1f}", "")
    return table


def _count(number: int | None) -> str:
    return "not verified" if number is None else f"{number:,}"


def _findings(report: Report) -> Iterator[str]:
    yield ""
    if not report.passed:
        yield from (f"  [dim]for example[/]  {escape(line)}" for line in report.result.verdict.examples[:_SHOWN])
        yield from (f"  [dim]differs[/]      {escape(line)}" for line in report.differences[:_SHOWN])
        yield ""
    yield f"timeline  {escape(str(report.timeline))}   (open it in a browser)"
    yield f"result    {escape(str(report.result.table))}"
    yield ""
    if report.passed:
        yield "[bold green]PASSED[/]  every flight is there exactly once, although a zombie tried"
        yield "next: eosfw demo --without-exactly-once   (the same zombie, unguarded)"
    elif report.options.exactly_once:
        yield "[bold red]FAILED[/]  see the numbers above"
    else:
        yield "[bold red]FAILED, as it must[/]  records and offsets are not committed together, nobody stops the zombie"
        yield "next: eosfw demo   (the same zombie, exactly once)"
