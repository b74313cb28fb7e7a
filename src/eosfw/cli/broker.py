"""`eosfw broker`: serve the embedded broker to any Kafka client."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosfw.cli.output.stdout import print_data
from eosfw.cli.parsing.addresses import parse_listener
from eosfw.errors import ConfigError, InterruptedRunError, Problem

if TYPE_CHECKING:
    from eosfw.pipeline import RunControl


_OPTIONS = {
    "listeners": "--listen",
    "advertised.listeners": "--advertised",
    "log.dirs": "--data-dir",
    "eosfw.faults": "--faults",
}
"""Properties that have an option, and so are refused as --property: two values would contradict each other."""


def _directory(text: str) -> Path:
    if not text:
        raise ConfigError(Problem("--data-dir", "name a directory, or leave it out"))
    return Path(text)  # Path("") would be the current directory


class Flush(Enum):
    """What an acknowledgement waits for."""

    OS = "os"
    FSYNC = "fsync"


_Listen = Annotated[str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0 takes a free one.")]
_Advertised = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Where clients find the broker; needed for a host other than loopback. Port 0 is the one listened on.",
    ),
]
_DataDir = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        parser=_directory,
        help="Keep everything in this directory; without it, in memory, of which nothing stays. What was "
        "acknowledged survives the end of the process, however it ends.",
    ),
]
_Flush = Annotated[
    Flush,
    typer.Option(
        help="With os, acknowledged means handed to the operating system, as Kafka means it: it survives the "
        "process, not a loss of power. With fsync it means on the disk; writers share each wait for it.",
    ),
]
_Faults = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A TOML file that says what shall go wrong, for tests: requests dropped, answers lost, restarts. Each "
        "fault that strikes is reported on stderr, at the end each that did not.",
    ),
]
_Properties = Annotated[
    list[str] | None, typer.Option("--property", metavar="KEY=VALUE", help="A broker property; may be repeated.")
]
_Cluster = Annotated[str | None, typer.Option(help="Which cluster, where several are installed.")]


def command(
    *,
    listen: _Listen = "127.0.0.1:9092",
    advertised: _Advertised = None,
    data_dir: _DataDir = None,
    flush: _Flush = Flush.OS,
    faults: _Faults = None,
    properties: _Properties = None,
    cluster: _Cluster = None,
) -> None:
    """Serve an embedded, Kafka-compatible broker until Ctrl-C or SIGTERM, in memory or from a directory."""
    from eosfw.cli.open_files import allow_many_files
    from eosfw.cli.signals import run_with_signals
    from eosfw.concurrency import ThreadRuntime

    allow_many_files()
    settings = dict(map(_property, properties or []))
    settings["listeners"] = f"PLAINTEXT://{parse_listener('--listen', listen)}"
    if advertised is not None:
        settings["advertised.listeners"] = f"PLAINTEXT://{parse_listener('--advertised', advertised)}"
    if data_dir is not None:
        settings["log.dirs"] = str(data_dir)
    if faults is not None:
        settings["eosfw.faults"] = str(faults)
    if flush is Flush.FSYNC:
        if data_dir is None:
            raise ConfigError(Problem("--flush", "fsync needs files to wait for: give a directory with --data-dir"))
        settings["log.flush.interval.messages"] = "1"
    try:
        run_with_signals(lambda control: _serve(control, cluster, settings), ThreadRuntime())
    except InterruptedRunError:
        return  # a server has no other end, so this is no failure


def _serve(control: RunControl, cluster: str | None, settings: dict[str, str]) -> None:
    from contextlib import closing

    from eosfw.registry import load_plugins

    with closing(load_plugins().cluster(cluster).start(settings, control.runtime)) as serving:
        advertised = (
            "" if serving.bootstrap_servers == serving.listens_on else f", advertised as {serving.bootstrap_servers}"
        )
        print_data(f"listening on {serving.listens_on}{advertised}")
        while not control.stopping:
            control.pause(3600.0)


def _property(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(Problem("--property", f"{text!r} is not written KEY=VALUE"))
    if name in _OPTIONS:
        raise ConfigError(Problem("--property", f"{name} is said by {_OPTIONS[name]}"))
    return name, value
