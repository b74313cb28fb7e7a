"""`eosfw broker`: serve the embedded broker to any Kafka client."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosfw.cli.output.stdout import print_data
from eosfw.cli.parsing.addresses import parse_listeners
from eosfw.errors import ConfigError, InterruptedRunError, Problem

if TYPE_CHECKING:
    from eosfw.pipeline import RunControl
    from eosfw.protocols import LocalCluster


_OPTIONS = {
    "listeners": "--listen",
    "advertised.listeners": "--advertised",
    "log.dirs": "--data-dir",
    "eosfw.faults": "--faults",
    "eosfw.tls.auto": "--tls",
    "eosfw.users.file": "--users",
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


class Tls(Enum):
    """Where keys and certificates come from."""

    AUTO = "auto"


_Listen = Annotated[
    str,
    typer.Option(
        metavar="[NAME://]HOST:PORT",
        help="Where to listen; port 0 takes a free one. NAME is that of a listener of Kafka's, PLAINTEXT by default, "
        "SASL_SSL with --tls, SASL_PLAINTEXT with --users alone; several stand with commas between.",
    ),
]
_Tls = Annotated[
    Tls | None,
    typer.Option(
        help="With auto, make an authority, a certificate and a user that end with the broker, for tests, and print "
        "the properties of a client. Own certificates are said by --property ssl.keystore.location=FILE."
    ),
]
_ClientProperties = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="With --tls, write the properties of a client to this file, too."),
]
_Users = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A file with a line NAME=PASSWORD for each user, read again when it has changed. Listeners with SASL let "
        "in nobody else, by SCRAM-SHA-512 unless --property sasl.enabled.mechanisms says otherwise.",
    ),
]
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


def command(  # noqa: PLR0913 - one for each option
    *,
    listen: _Listen = "127.0.0.1:9092",
    advertised: _Advertised = None,
    tls: _Tls = None,
    client_properties: _ClientProperties = None,
    users: _Users = None,
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
    name = _listener_name(tls, users)
    settings["listeners"] = parse_listeners("--listen", listen, name)
    if advertised is not None:
        settings["advertised.listeners"] = parse_listeners("--advertised", advertised, name)
    if tls is not None:
        settings["eosfw.tls.auto"] = "true"
    elif client_properties is not None:
        raise ConfigError(Problem("--client-properties", "a client needs none without --tls auto"))
    if users is not None:
        settings["eosfw.users.file"] = str(users)
        settings.setdefault("sasl.enabled.mechanisms", "SCRAM-SHA-512")
    if data_dir is not None:
        settings["log.dirs"] = str(data_dir)
    if faults is not None:
        settings["eosfw.faults"] = str(faults)
    if flush is Flush.FSYNC:
        if data_dir is None:
            raise ConfigError(Problem("--flush", "fsync needs files to wait for: give a directory with --data-dir"))
        settings["log.flush.interval.messages"] = "1"
    try:
        run_with_signals(lambda control: _serve(control, cluster, settings, client_properties), ThreadRuntime())
    except InterruptedRunError:
        return  # a server has no other end, so this is no failure


def _listener_name(tls: Tls | None, users: Path | None) -> str:
    """The name of listeners that have none, which says how they are protected."""
    if tls is not None:
        return "SASL_SSL"
    return "PLAINTEXT" if users is None else "SASL_PLAINTEXT"


def _serve(control: RunControl, cluster: str | None, settings: dict[str, str], client_file: Path | None) -> None:
    from contextlib import closing

    from eosfw.registry import load_plugins

    with closing(load_plugins().cluster(cluster).start(settings, control.runtime)) as serving:
        advertised = (
            "" if serving.bootstrap_servers == serving.listens_on else f", advertised as {serving.bootstrap_servers}"
        )
        client = _client_properties(serving)
        if client_file is not None:
            _write_privately(client_file, client)
        print_data(f"listening on {serving.listens_on}{advertised}")
        for line in client:
            print_data(line)
        while not control.stopping:
            control.pause(3600.0)


def _client_properties(serving: LocalCluster) -> list[str]:
    """The lines of a properties file with which a client connects; none without TLS or SASL."""
    from eosfw.test_support import SecuredCluster

    found = dict(serving.client_properties) if isinstance(serving, SecuredCluster) else {}
    given = {"bootstrap.servers": serving.bootstrap_servers, **found} if found else {}
    return [f"{name}={text}" for name, text in given.items()]


def _write_privately(path: Path, lines: list[str]) -> None:
    """Write a file that only this user reads, for a password stands in it."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as why:
        raise ConfigError(Problem("--client-properties", f"{path}: {why.strerror}")) from None


def _property(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(Problem("--property", f"{text!r} is not written KEY=VALUE"))
    if name in _OPTIONS:
        raise ConfigError(Problem("--property", f"{name} is said by {_OPTIONS[name]}"))
    return name, value
