"""Run the demo from the CSV to the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from eosfw_demo.environment import DemoEnvironment, DemoOptions, open_environment
from eosfw_demo.flights import read_flights, split
from eosfw_demo.progress import Progress
from eosfw_demo.report import Report
from eosfw_demo.verification import STEP, SUFFIX, verify
from eosfw_demo.zombie_scenario import TASKS, ScenarioResult, run_scenario

TITLE = "336,776 flights exactly once, with a zombie in the way"
CONTRAST = "The same zombie without exactly-once"


@dataclass(frozen=True, slots=True)
class OutputFolder:
    """The folder to which the demo writes."""

    output: Path
    keep: bool = False

    def prepare(self) -> None:
        """Create the output folder; ConfigError if that fails."""
        try:
            self.output.mkdir(parents=True, exist_ok=True)
        except OSError as why:
            what = f"cannot make the folder {self.output}: {why.strerror}; name another one with --output"
            raise ConfigError(Problem("--output", what)) from why

    @contextmanager
    def sources(self) -> Iterator[Path]:
        """A folder for the split CSV files; it is removed afterwards unless `keep` is set."""
        if self.keep:
            folder = self.output / "csv"
            folder.mkdir(exist_ok=True)
            yield folder
            return
        with TemporaryDirectory(prefix="eosfw-demo-") as scratch:
            yield Path(scratch)


def check_spark(plugins: Plugins, output: Path) -> None:
    """Raise ConfigError if Spark could not verify the result; the message names the way without Spark."""
    step = Step(STEP, [StepInput(TOPIC_TABLE, "flights")], str(output / STEP), sql=SQL)
    try:
        problems = list(plugins.step_engine().problems([step], str(output)))
    except PluginError as error:
        problems = [Problem("", str(error))]
    if problems:
        raise ConfigError(*problems, Problem("", "without Spark, check with our own reader: eosfw demo --no-spark"))


def run(
    options: DemoOptions,
    folder: OutputFolder,
    plugins: Plugins,
    runtime: Runtime,
    make_progress: Callable[[int], Progress],
) -> tuple[Report, History]:
    """Run the scenario, verify what it committed, draw its timeline."""
    begun = runtime.now()
    folder.prepare()
    flights = read_flights()
    with make_progress(len(flights.lines)) as progress, folder.sources() as csv_folder:
        files = split(*flights, csv_folder, TASKS)
        progress.log(f"{len(flights.lines):,} flights split over {TASKS} files")
        with open_environment(options, plugins, runtime, progress) as environment:
            progress.log(f"{_cluster(environment)} and a worker group are up")
            scenario = run_scenario(environment, files, len(flights.lines), progress)
            picture = _draw(environment, scenario, options, folder)
            result = verify(environment, options, flights, folder.output, progress)
            differing = differences(aggregate(*flights), result.rows)
            progress.log("the aggregation is compared with the CSV's own")
    seconds = runtime.now() - begun
    report = Report(options, len(flights.lines), scenario, result, differing, picture, seconds)
    return report, environment.history


def _cluster(environment: DemoEnvironment) -> str:
    return f"{'Kafka' if environment.run.cluster is None else 'an embedded broker'} at {environment.address}"


def _draw(environment: DemoEnvironment, scenario: ScenarioResult, options: DemoOptions, folder: OutputFolder) -> Path:
    path = folder.output / f"timeline{'' if options.exactly_once else SUFFIX}.svg"
    title = TITLE if options.exactly_once else CONTRAST
    path.write_text(timeline.svg(environment.history, [scenario.freeze], title=title), encoding="utf-8")
    if folder.keep:
        (folder.output / "events.jsonl").write_text(
            "".join(f"{line}\n" for line in environment.history.lines()), "utf-8"
        )
    return path
