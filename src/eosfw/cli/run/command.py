"""`eosfw run`: run a pipeline file, from its sources to the output of its steps."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosfw.cli.parsing.limits import seconds
from eosfw.cli.run import console_option
from eosfw.cli.run.host_option import CONF_HELP, ENGINE_HELP, MASTER_HELP, host_choice
from eosfw.cli.run.json_errors import FinishedRun, failure_as_json, problems_as_json
from eosfw.cli.run.timeline_file import TimelineFile
from eosfw.cli.run.verify_option import HELP, METAVAR, OPTIONS, parse_verify_option

if TYPE_CHECKING:
    from eosfw.cli.run.progress import Progress
    from eosfw.pipeline import Options, Pipeline, RunControl, Summary


@dataclass(frozen=True, slots=True)
class RunArguments:
    """What the command line says of a run."""

    check: Annotated[
        bool, typer.Option("--check", help="Report every problem of the file; ask sources; start nothing.")
    ] = False
    json_: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="End a run that is not done after so many seconds; says what was stuck; exit code 6.",
            callback=seconds,
        ),
    ] = None
    idle: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds without records after which a source that knows no end is drained.", callback=seconds
        ),
    ] = 5.0
    steps_only: Annotated[bool, typer.Option("--steps-only", help="Run the steps alone, no connectors.")] = False
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Go on until Ctrl-C, connectors and streaming steps alike."),
    ] = False
    verify: Annotated[str | None, typer.Option(*OPTIONS, metavar=METAVAR, help=HELP, show_default=False)] = None
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only warnings.")] = False
    timeline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the run's transactions there: FILE.svg, or FILE.txt.")
    ] = None
    console: Annotated[
        str | None,
        typer.Option(
            console_option.OPTION, metavar=console_option.METAVAR, help=console_option.HELP, show_default=False
        ),
    ] = None
    engine: Annotated[str | None, typer.Option(metavar="NAME", help=ENGINE_HELP)] = None
    master: Annotated[str | None, typer.Option(metavar="URL", help=MASTER_HELP)] = None
    conf: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help=CONF_HELP)] = None

    def pipeline_options(self) -> Options:
        """What concerns the pipeline; BadParameter for options that contradict each other."""
        from eosfw.pipeline import Options, Verification

        wanted = parse_verify_option(self.verify)
        if self.steps_only and wanted not in (None, Verification.OFF):
            raise typer.BadParameter("--steps-only writes nothing that --verify could count: leave one out")
        if self.follow and wanted not in (None, Verification.OFF):
            raise typer.BadParameter("--follow has no end at which --verify could count: leave one out")
        if self.steps_only and self.console is not None:
            raise typer.BadParameter("--console shows connectors, and --steps-only runs none: leave one out")
        host = host_choice(self.engine, self.master, self.conf or ())
        return Options(idle=self.idle, steps_only=self.steps_only, follow=self.follow, verify=wanted, host=host)


def command(
    file: Annotated[Path, typer.Argument(help="The pipeline file (TOML); its relative paths start at its folder.")],
    arguments: RunArguments,
) -> None:
    """Run a pipeline file: its connectors until drained, its steps over what they committed, then a summary.

    With --follow, connectors and streaming steps go on together until Ctrl-C.
    """
    from eosfw.cli.output.stdout import reserved_stdout

    options = arguments.pipeline_options()
    timeline = TimelineFile.checked(arguments.timeline)
    display = Display(arguments.timeout, arguments.quiet, timeline, arguments.console)
    with reserved_stdout() as write:
        if arguments.check:
            with problems_as_json(write if arguments.json_ else None):
                _check(file, options)
            write(json.dumps({"problems": []}) if arguments.json_ else f"{file}: no problems")
            return
        with failure_as_json(write if arguments.json_ else None) as finished:
            summary = _run(file, options, display, finished)
        write(json.dumps(summary.as_json()) if arguments.json_ else summary.as_text())
    raise typer.Exit(summary.exit_code)


@dataclass(frozen=True, slots=True)
class Display:
    """How long a run may take, and what it shows meanwhile."""

    timeout: float | None
    quiet: bool
    timeline: TimelineFile | None
    console: str | None
    """HOST:PORT of the console; None for a run without one."""


def _check(file: Path, options: Options) -> None:
    from eosfw.concurrency import ThreadRuntime
    from eosfw.pipeline import check
    from eosfw.pipeline.definition.source_check import require_sources
    from eosfw.registry import load_plugins

    pipeline, plugins, runtime = _opened(file), load_plugins(), ThreadRuntime()
    check(pipeline, plugins, runtime, options)
    if not options.steps_only:
        require_sources(pipeline, plugins, runtime)


def _run(file: Path, options: Options, display: Display, finished: FinishedRun) -> Summary:
    from eosfw.cli.run.progress import Progress
    from eosfw.cli.signals import RunLimits, run_with_signals
    from eosfw.concurrency import ThreadRuntime

    pipeline = _opened(file)
    runtime = ThreadRuntime()
    with Progress(runtime, quiet=display.quiet) as progress:
        limits = RunLimits(
            display.timeout, lambda: _stuck(progress), lambda: _clean_stop_timeout(progress), progress.print_line
        )
        try:
            return run_with_signals(
                lambda control: _work(pipeline, options, control, progress, display.console), runtime, limits
            )
        finally:
            if progress.run is not None:
                finished.history, finished.queries = progress.run.history, progress.queries
                if display.timeline is not None:
                    display.timeline.write(
                        progress.run.history, f"Transactions of {pipeline.path.name}", progress.print_line
                    )


def _work(
    pipeline: Pipeline, options: Options, control: RunControl, progress: Progress, address: str | None
) -> Summary:
    from contextlib import closing

    from eosfw.cli.loaded_objects import keep_loaded_objects
    from eosfw.pipeline import RunConsole, run
    from eosfw.registry import load_plugins

    plugins = load_plugins()
    keep_loaded_objects()
    if address is None:
        return run(pipeline, plugins, control, progress, options)
    with closing(RunConsole.open(address, plugins, control.runtime)) as console:
        console.progress = lambda: dict(progress.queries)
        return run(pipeline, plugins, control, progress, options, console)


def _stuck(progress: Progress) -> str:
    from eosfw.pipeline.local import stuck_report

    run = progress.run
    state = "no task was started" if run is None else stuck_report.report(run.history, run.worker.status())
    return f"it was {progress.current}\n{state}"


def _clean_stop_timeout(progress: Progress) -> float:
    # The worker itself closes producers when its tasks' time to stop is over; steps and checks end sooner.
    graceful_ms = 5_000 if progress.run is None else int(progress.run.config["task.shutdown.graceful.timeout.ms"])
    return 10.0 + graceful_ms / 1000


def _opened(file: Path) -> Pipeline:
    import os

    from eosfw.pipeline.definition.parsing import load_with_problems

    pipeline = load_with_problems(file)
    # Connectors know nothing of the file that names them, so their relative paths start where the process stands.
    os.chdir(pipeline.folder)
    return pipeline
