"""Run the demo from the CSV to the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from eosfw.concurrency import Runtime
from eosfw.errors import ConfigError, PluginError, Problem
from eosfw.observe import History, timeline
from eosfw.protocols import Step, StepInput
from eosfw.registry import Plugins
from eosfw_demo.aggregate import SQL, TOPIC_TABLE, aggregate, differences
from eosfw_demo.flights import read_flights, split
from eosfw_demo.progress import Progress
from eosfw_demo.report import Report
from eosfw_demo.scenario import TASKS, Drama, play
from eosfw_demo.stage import Stage, Wishes, stage
from eosfw_demo.verdict import STEP, SUFFIX, Judged, judge

TITLE = "336,776 flights exactly once, with a zombie in the way"
CONTRAST = "The same zombie without exactly-once"


@dataclass(frozen=True, slots=True)
class Places:
    """Where the demo writes."""

    output: Path
    keep: bool = False

    def prepare(self) -> None:
        """Make the output folder, or say why there cannot be one."""
        try:
            self.output.mkdir(parents=True, exist_ok=True)
        except OSError as why:
            what = f"cannot make the folder {self.output}: {why.strerror}; name another one with --output"
            raise ConfigError(Problem("--output", what)) from why

    @contextmanager
    def sources(self) -> Iterator[Path]:
        """A folder for the split CSV files; it goes away unless the user wants to keep it."""
        if self.keep:
            folder = self.output / "csv"
            folder.mkdir(exist_ok=True)
            yield folder
            return
        with TemporaryDirectory(prefix="eosfw-demo-") as scratch:
            yield Path(scratch)


def check_spark(plugins: Plugins, output: Path) -> None:
    """Refuse to start when Spark could not judge in the end; say how to go without it."""
    step = Step(STEP, [StepInput(TOPIC_TABLE, "flights")], str(output / STEP), sql=SQL)
    try:
        problems = list(plugins.step_engine().problems([step], str(output)))
    except PluginError as error:
        problems = [Problem("", str(error))]
    if problems:
        raise ConfigError(*problems, Problem("", "without Spark, check with our own reader: eosfw demo --no-spark"))


def run(
    wishes: Wishes, places: Places, plugins: Plugins, runtime: Runtime, make_progress: Callable[[int], Progress]
) -> tuple[Report, History]:
    """Play the scenario, judge what it left, draw it."""
    begun = runtime.now()
    places.prepare()
    header, lines = read_flights()
    with make_progress(len(lines)) as progress, places.sources() as folder:
        files = split(header, lines, folder, TASKS)
        progress.say(f"{len(lines):,} flights split over {TASKS} files")
        with stage(wishes, plugins, runtime, progress) as on:
            progress.say(f"{_cluster(on)} and a worker group are up")
            drama = play(on, files, len(lines), progress)
            picture = _draw(on, drama, wishes, places)
            judged = judge(on, wishes, header, lines, places.output, progress)
            differing = differences(aggregate(header, lines), judged.rows)
            progress.say("the aggregation is compared with the CSV's own")
    report = _report(wishes, len(lines), drama, judged, differing, picture, runtime.now() - begun)
    return report, on.history


def _cluster(on: Stage) -> str:
    return f"{'Kafka' if on.run.cluster is None else 'an embedded broker'} at {on.address}"


def _draw(on: Stage, drama: Drama, wishes: Wishes, places: Places) -> Path:
    path = places.output / f"timeline{'' if wishes.exactly_once else SUFFIX}.svg"
    title = TITLE if wishes.exactly_once else CONTRAST
    path.write_text(timeline.svg(on.history, [drama.freeze], title=title), encoding="utf-8")
    if places.keep:
        (places.output / "events.jsonl").write_text("".join(f"{line}\n" for line in on.history.lines()), "utf-8")
    return path


def _report(
    wishes: Wishes, flights: int, drama: Drama, judged: Judged, differing: Sequence[str], picture: Path, seconds: float
) -> Report:
    return Report(
        wishes=wishes,
        flights=flights,
        drama=drama,
        verdict=judged.verdict,
        rows_out=len(judged.rows),
        differences=differing,
        table=judged.table,
        timeline=picture,
        seconds=seconds,
    )
