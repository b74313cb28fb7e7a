"""Offer `eosfw run`: a pipeline file, from its sources to its steps' output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosfw.cli.verify_option import HELP, METAVAR, OPTION, chosen

if TYPE_CHECKING:
    from eosfw.cli.progress import Progress
    from eosfw.pipeline import Control, Options, Pipeline, Summary


def command(
    file: Annotated[Path, typer.Argument(help="The pipeline file (TOML); its relative paths start at its folder.")],
    *,
    check: Annotated[bool, typer.Option("--check", help="Report every problem of the file; start nothing.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
    timeout: Annotated[
        float | None,
        typer.Option(min=0, help="End a run that is not done after so many seconds; says what was stuck; exit code 6."),
    ] = None,
    idle: Annotated[
        float, typer.Option(min=0, help="Seconds without records after which a source that knows no end is drained.")
    ] = 5.0,
    steps_only: Annotated[bool, typer.Option("--steps-only", help="Run the steps alone, no connectors.")] = False,
    verify: Annotated[str | None, typer.Option(OPTION, metavar=METAVAR, help=HELP, show_default=False)] = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="The same as --verify=off.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only warnings.")] = False,
) -> None:
    """Run a pipeline file: its connectors until drained, its steps over what they committed, then a summary."""
    from eosfw.cli.stdout import reserved
    from eosfw.pipeline import Options, Verification
    from eosfw.pipeline.sections import read

    wanted = chosen(verify, no_verify=no_verify)
    if steps_only and wanted not in (None, Verification.OFF):
        raise typer.BadParameter("--steps-only writes nothing that --verify could count: leave one out")
    options = Options(idle=idle, steps_only=steps_only, verify=wanted)
    with reserved() as write:
        pipeline = read(file)
        _enter_folder(pipeline)
        if check:
            _check(pipeline, options)
            write(json.dumps({"problems": []}) if json_ else f"{file}: no problems")
            return
        summary = _run(pipeline, options, timeout, quiet=quiet)
        write(json.dumps(summary.as_json()) if json_ else summary.as_text())
    raise typer.Exit(summary.exit_code)


def _check(pipeline: Pipeline, options: Options) -> None:
    from eosfw.pipeline import check
    from eosfw.registry import load_plugins
    from eosfw.waiting import ThreadRuntime

    check(pipeline, load_plugins(), ThreadRuntime(), options)


def _run(pipeline: Pipeline, options: Options, timeout: float | None, *, quiet: bool) -> Summary:
    from eosfw.cli.progress import Progress
    from eosfw.cli.supervising import Limits, supervised
    from eosfw.waiting import ThreadRuntime

    runtime = ThreadRuntime()
    progress = Progress(runtime.now, quiet=quiet)
    limits = Limits(timeout, lambda: _stuck(progress), lambda: _clean_end(progress))
    try:
        return supervised(lambda control: _work(pipeline, options, control, progress), runtime, limits)
    finally:
        progress.close()


def _work(pipeline: Pipeline, options: Options, control: Control, progress: Progress) -> Summary:
    from eosfw.pipeline import run
    from eosfw.registry import load_plugins

    return run(pipeline, load_plugins(), control, progress, options)


def _stuck(progress: Progress) -> str:
    from eosfw.pipeline.stuck import described

    state = "no task was started" if progress.run is None else described(progress.run.history)
    return f"it was {progress.current}\n{state}"


def _clean_end(progress: Progress) -> float:
    # The worker itself closes producers when its tasks' time to stop is over; steps and checks end sooner.
    graceful_ms = 5_000 if progress.run is None else int(progress.run.config["task.shutdown.graceful.timeout.ms"])
    return 10.0 + graceful_ms / 1000


def _enter_folder(pipeline: Pipeline) -> None:
    import os

    # Connectors know nothing of the file that names them, so their relative paths start where the process stands.
    os.chdir(pipeline.folder)
