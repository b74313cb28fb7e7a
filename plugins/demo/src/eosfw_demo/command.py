"""The command `eosfw demo`."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from eosfw.concurrency import Runtime
from eosfw.errors import ExitCode


class Source(StrEnum):
    """The sources that the demo has."""

    FILE = "file"
    POSTGRES = "postgres"


def command(  # noqa: PLR0913 (each is an option)
    *,
    source: Annotated[
        Source, typer.Option(help="Flights from CSV files, or changes of flights from a PostgreSQL that is started.")
    ] = Source.FILE,
    no_spark: Annotated[bool, typer.Option("--no-spark", help="Check with our own reader: seconds, no Java.")] = False,
    without_exactly_once: Annotated[
        bool, typer.Option("--without-exactly-once", help="The contrast: the same zombie at least once; exit code 1.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object on stdout instead of the report.")] = False,
    output: Annotated[
        Path, typer.Option(help="Folder for the timeline and the result; an earlier run's are replaced.")
    ] = Path("eosfw-demo"),
    backend: Annotated[
        str | None,
        typer.Option(help="Client library to run with; without it memory, or confluent with --bootstrap-servers."),
    ] = None,
    bootstrap_servers: Annotated[
        str | None, typer.Option(help="A Kafka (HOST:PORT) in place of the embedded broker; its topics stay there.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the split CSV files and the events of the run.")] = False,
    console: Annotated[
        bool, typer.Option("--console", help="Show the run in a browser; its pages stay until Ctrl-C.")
    ] = False,
) -> None:
    """Run real flights through exactly-once tasks, make a zombie on purpose, prove that it changed nothing."""
    # imported here, because `eosfw --help` imports this module and must stay fast
    from contextlib import ExitStack

    from rich.console import Console

    from eosfw.cli import reserved_stdout
    from eosfw.concurrency import ThreadRuntime
    from eosfw.registry import load_plugins
    from eosfw_demo.environment import DemoOptions, default_backend
    from eosfw_demo.file_source.source import FileSource
    from eosfw_demo.output import OutputFolder
    from eosfw_demo.postgres_source.source import PostgresSource
    from eosfw_demo.progress import Progress
    from eosfw_demo.report import as_json, show
    from eosfw_demo.run import check_installed, run

    servers = bootstrap_servers
    options = DemoOptions(not without_exactly_once, not no_spark, backend or default_backend(servers), servers, console)
    folder = OutputFolder(output.absolute(), keep)
    plugins, runtime, stderr = load_plugins(), ThreadRuntime(), Console(stderr=True)
    chosen = FileSource() if source is Source.FILE else PostgresSource()
    check_installed(chosen, options, plugins, folder.output)
    with _sigterm_as_interrupt(), ExitStack() as undo:
        with reserved_stdout():  # Spark's JVM would write to stdout as well
            running = run(chosen, options, folder, plugins, lambda: Progress(runtime, stderr), runtime)
            report, local = undo.enter_context(running)
        if json_:
            typer.echo(json.dumps(as_json(report, local.history)))
        else:
            show(report, local.history, Console())
        if local.console is not None:
            stderr.print(f"the console stays at {local.console.url} until Ctrl-C", highlight=False)
            _wait_for_interrupt(runtime)
    if not report.passed:
        raise typer.Exit(ExitCode.VERDICT_FAILED)


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end the demo as Ctrl-C does, so that it leaves neither files nor a database behind."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _wait_for_interrupt(runtime: Runtime) -> None:
    """Return on Ctrl-C; the run is over, so that ends nothing early."""
    with suppress(KeyboardInterrupt):
        runtime.event().wait()
