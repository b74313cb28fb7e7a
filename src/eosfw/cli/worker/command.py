"""`eosfw worker CONFIG`: join a worker group until a signal comes."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosfw.cli.output.log_format import LogFormat, use
from eosfw.errors import ConfigError, InterruptedRunError, Problem

if TYPE_CHECKING:
    from eosfw.cli.worker.config_file import WorkerFile
    from eosfw.concurrency import Event, Runtime
    from eosfw.pipeline import RunControl
    from eosfw.protocols import Backend
    from eosfw.registry import Plugins
    from eosfw.runtime import DistributedHerder

_WATCH = 0.5
"""Seconds between two looks at who leads."""
_START_TIME = 3.0
"""Seconds that a start may go on for when the worker shall stop: one that joins its group leaves it cleanly then."""


def command(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="The worker's properties: a file of Kafka Connect's, or TOML.")
    ],
    *,
    json_: Annotated[bool, typer.Option("--json", help="Print each event as one JSON object a line.")] = False,
    backend: Annotated[
        str | None, typer.Option("--backend", help="The client to use, if the file does not name it.")
    ] = None,
    log_format: Annotated[LogFormat, typer.Option(help="How log records are written to stderr.")] = LogFormat.TEXT,
) -> None:
    """Run a worker of the group that `group.id` names, until Ctrl-C or SIGTERM.

    Connectors are created, changed and deleted by REST, at any worker: see `eosfw connectors`. They are kept in the
    config topic, so a worker that starts again goes on with them. On SIGTERM it leaves the group cleanly with exit
    code 0, on Ctrl-C with 130; a second signal ends it at once.
    """
    from eosfw.cli.output.stdout import reserved_stdout
    from eosfw.cli.signals import RunLimits, run_with_signals
    from eosfw.cli.worker.config_file import read_worker_file
    from eosfw.concurrency import ThreadRuntime
    from eosfw.open_files import allow_many_files

    use(log_format)
    allow_many_files()
    file = read_worker_file(config)
    with reserved_stdout() as write:
        report = Report(write, as_json=json_)
        limits = RunLimits(clean_stop_timeout=lambda: 60.0)
        try:
            run_with_signals(lambda control: _serve(file, backend, control, report), ThreadRuntime(), limits)
        except InterruptedRunError as asked:
            if asked.signal_number != signal.SIGTERM:
                raise


class Report:
    """Prints what happens to a worker, for people or as JSON."""

    def __init__(self, write: Callable[[str], bool], *, as_json: bool) -> None:
        self._write, self._as_json = write, as_json
        self._leads: bool | None = None

    def started(self, herder: DistributedHerder, group: str, url: str | None) -> None:
        """Tell where the worker is reached."""
        rest = f"REST interface at {url}" if url else "no REST interface: install it with pip install 'eosfw[rest]'"
        self._event(
            "started", f"worker {herder.name} of group {group}; {rest}", worker=herder.name, group=group, url=url
        )

    def leadership(self, *, leads: bool) -> None:
        """Tell when the worker begins to lead its group, or leads it no longer."""
        if leads == self._leads or (self._leads is None and not leads):
            self._leads = leads
            return
        self._leads = leads
        self._event("leads" if leads else "follows", "leads the group" if leads else "leads the group no longer")

    def _event(self, event: str, text: str, **fields: object) -> None:
        self._write(json.dumps({"event": event, **fields}) if self._as_json else text)


def _serve(file: WorkerFile, backend: str | None, control: RunControl, report: Report) -> None:
    from contextlib import ExitStack

    from eosfw.cli.loaded_objects import keep_loaded_objects
    from eosfw.observe import Announcer
    from eosfw.pipeline.definition.connectivity import require_addresses, require_reachable
    from eosfw.registry import load_plugins
    from eosfw.registry.config_transformer import transform_by
    from eosfw.runtime import DistributedHerder, WorkerSetup, worker_config

    plugins = load_plugins()
    keep_loaded_objects()
    kind, rest_class = _backend_of(plugins, backend or file.backend, file.where), plugins.rest_server()
    config = worker_config(file.worker, rest_class, file.where, plugins)
    properties = transform_by(plugins, file.worker, file.client).values
    require_addresses(f"{file.where}: bootstrap.servers", properties["bootstrap.servers"])
    with ExitStack() as undo:
        rest = None if rest_class is None else rest_class.start(config, control.runtime)
        if rest is not None:
            undo.callback(rest.close)
        require_reachable(properties, control.runtime)
        client = kind.connect(properties, control.runtime)
        undo.callback(client.close)
        herder = DistributedHerder(
            WorkerSetup(
                config=config,
                backend=client,
                plugins=plugins,
                announce=Announcer(plugins.observers()),
                runtime=control.runtime,
                rest=rest,
            )
        )
        undo.callback(control.on_kill(herder.kill))
        undo.callback(herder.stop)
        if rest is not None:
            # First of all: a worker that leaves answers no more, rather than from clients that are closed.
            undo.callback(rest.close)
        started = control.runtime.event()
        undo.callback(started.set)
        undo.callback(control.on_stop(partial(_limit_start, client, started, control.runtime)))
        herder.start()
        started.set()
        report.started(herder, config["group.id"], None if rest is None else rest.url)
        while not control.stopping:
            report.leadership(leads=herder.leads())
            control.pause(_WATCH)


def _limit_start(client: Backend, started: Event, runtime: Runtime) -> None:
    """End the calls of a start that waits for its cluster: each may take `default.api.timeout.ms`."""

    def close_if_late() -> None:
        if not started.wait(_START_TIME):
            client.close()

    runtime.spawn("eosfw-limit-start", close_if_late)


def _backend_of(plugins: Plugins, name: str | None, where: str) -> type[Backend]:
    """The client that is named, or else the only one installed; ConfigError where several are."""
    installed = plugins.names("backend")
    if name is None and len(installed) != 1:
        found = f"installed: {', '.join(installed)}" if installed else "none is installed"
        raise ConfigError(Problem(where, f"name the client of the cluster with --backend; {found}"))
    return plugins.backend(installed[0] if name is None else name)
