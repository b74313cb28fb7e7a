"""Run the demo from its source to the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from eosfw.concurrency import Runtime
from eosfw.errors import ConfigError, PluginError, Problem
from eosfw.observe import timeline
from eosfw.pipeline import LocalRun
from eosfw.registry import Plugins
from eosfw_demo.environment import DemoEnvironment, DemoOptions, open_environment
from eosfw_demo.output import WITHOUT, OutputFolder
from eosfw_demo.progress import Progress
from eosfw_demo.report import Report
from eosfw_demo.sources import DemoSource
from eosfw_demo.zombie_scenario import ScenarioResult, run_scenario

CONTRAST = "The same zombie without exactly-once"


def check_installed(source: DemoSource, options: DemoOptions, plugins: Plugins, output: Path) -> None:
    """Raise ConfigError if the source, or Spark, is not there; the message names the way without Spark."""
    if problems := source.problems():
        raise ConfigError(*problems)
    if not options.spark:
        return
    try:
        problems = list(plugins.step_engine().problems([source.step(output)], str(output)))
    except PluginError as error:
        problems = [Problem("", str(error))]
    if problems:
        without = f"without Spark, check with our own reader: {source.command} --no-spark"
        raise ConfigError(*problems, Problem("", without))


@contextmanager
def run(
    source: DemoSource,
    options: DemoOptions,
    folder: OutputFolder,
    plugins: Plugins,
    make_progress: Callable[[], Progress],
    runtime: Runtime,
) -> Iterator[tuple[Report, LocalRun]]:
    """Run the scenario, verify what it committed, draw its timeline; within the block the cluster is still there."""
    begun = runtime.now()
    folder.prepare()
    with ExitStack() as undo:
        shown = undo.enter_context(ExitStack())
        progress = shown.enter_context(make_progress())
        opened = undo.enter_context(source.opened(folder, runtime, progress))
        environment = undo.enter_context(open_environment(options, source.topic, plugins, runtime, progress))
        progress.log(f"{_cluster(environment)} and a worker group are up")
        if environment.run.console is not None:
            progress.log(f"the console is at {environment.run.console.url}")
        plan = opened.plan(environment.names.topic)
        scenario = run_scenario(environment, plan, opened.check, progress)
        picture = _draw(environment, scenario, source, options, folder)
        findings = opened.verify(environment, options, folder.output, progress)
        progress.log(f"the result is compared with {source.equal_to}")
        shown.close()
        seconds = runtime.now() - begun
        yield Report(source, options, opened.subject, plan, scenario, findings, picture, seconds), environment.run


def _cluster(environment: DemoEnvironment) -> str:
    return f"{'Kafka' if environment.run.cluster is None else 'an embedded broker'} at {environment.address}"


def _draw(
    environment: DemoEnvironment,
    scenario: ScenarioResult,
    source: DemoSource,
    options: DemoOptions,
    folder: OutputFolder,
) -> Path:
    path = folder.output / f"timeline{source.suffix}{'' if options.exactly_once else WITHOUT}.svg"
    title = source.title if options.exactly_once else CONTRAST
    path.write_text(timeline.svg(environment.history, [scenario.freeze], title=title), encoding="utf-8")
    if folder.keep:
        (folder.output / f"events{source.suffix}.jsonl").write_text(
            "".join(f"{line}\n" for line in environment.history.lines()), "utf-8"
        )
    return path
