"""`eosfw broker`: serve the embedded broker to any Kafka client."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Where a broker listens, and whom it lets in."""

    listen: Annotated[
        str,
        typer.Option(
            metavar="[NAME://]HOST:PORT",
            help="Where to listen; port 0 takes a free one. NAME is that of a listener of Kafka's, PLAINTEXT by "
            "default, SASL_SSL with --tls, SASL_PLAINTEXT with --users alone; several stand with commas between.",
        ),
    ] = "127.0.0.1:9092"
    advertised: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Where clients find the broker; needed for a host other than loopback. Port 0 is the one listened on.",
        ),
    ] = None
    tls: Annotated[
        Tls | None,
        typer.Option(
            help="With auto, make an authority, a certificate and a user that end with the broker, for tests, and "
            "print the properties of a client. Own certificates are said by --property ssl.keystore.location=FILE."
        ),
    ] = None
    client_properties: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --tls, write the properties of a client to this file, too."),
    ] = None
    users: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file with a line NAME=PASSWORD for each user, read again when it has changed. Listeners with SASL "
            "let in nobody else, by SCRAM-SHA-512 unless --property sasl.enabled.mechanisms says otherwise.",
        ),
    ] = None

    def settings(self) -> Iterator[tuple[str, str]]:
        """The properties of a broker that stand for these options."""
        yield "listeners", parse_listeners("--listen", self.listen, self._name)
        if self.advertised is not None:
            yield "advertised.listeners", parse_listeners("--advertised", self.advertised, self._name)
        if self.tls is not None:
            yield "eosfw.tls.auto", "true"
        elif self.client_properties is not None:
            raise ConfigError(Problem("--client-properties", "a client needs none without --tls auto"))
        if self.users is not None:
            yield "eosfw.users.file", str(self.users)

    @property
    def _name(self) -> str:
        """The name of listeners that have none, which says how they are protected."""
        if self.tls is not None:
            return "SASL_SSL"
        return "PLAINTEXT" if self.users is None else "SASL_PLAINTEXT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where a broker keeps its records, and for what an acknowledgement waits."""

    data_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=_directory,
            help="Keep everything in this directory; without it, in memory, of which nothing stays. What was "
            "acknowledged survives the end of the process, however it ends.",
        ),
    ] = None
    flush: Annotated[
        Flush,
        typer.Option(
            help="With os, acknowledged means handed to the operating system, as Kafka means it: it survives the "
            "process, not a loss of power. With fsync it means on the disk; writers share each wait for it.",
        ),
    ] = Flush.OS

    def settings(self) -> Iterator[tuple[str, str]]:
        """The properties of a broker that stand for these options."""
        if self.data_dir is not None:
            yield "log.dirs", str(self.data_dir)
        if self.flush is Flush.FSYNC:
            if self.data_dir is None:
                raise ConfigError(Problem("--flush", "fsync needs files to wait for: give a directory with --data-dir"))
            yield "log.flush.interval.messages", "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedBroker:
    """Which broker is served, with which faults and other properties."""

    faults: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A TOML file that says what shall go wrong, for tests: requests dropped, answers lost, restarts. Each "
            "fault that strikes is reported on stderr, at the end each that did not.",
        ),
    ] = None
    properties: Annotated[
        list[str] | None, typer.Option("--property", metavar="KEY=VALUE", help="A broker property; may be repeated.")
    ] = None
    cluster: Annotated[str | None, typer.Option(help="Which cluster, where several are installed.")] = None

    def settings(self) -> Iterator[tuple[str, str]]:
        """The properties of a broker that stand for these options."""
        yield from map(_property, self.properties or [])
        if self.faults is not None:
            yield "eosfw.faults", str(self.faults)


def command(*, listeners: Listeners, storage: Storage, broker: ServedBroker) -> None:
    """Serve an embedded, Kafka-compatible broker until Ctrl-C or SIGTERM, in memory or from a directory."""
    from eosfw.cli.signals import run_with_signals
    from eosfw.concurrency import ThreadRuntime
    from eosfw.open_files import allow_many_files

    allow_many_files()
    settings = dict(broker.settings())
    if listeners.users is not None:
        settings.setdefault("sasl.enabled.mechanisms", "SCRAM-SHA-512")
    settings |= dict([*listeners.settings(), *storage.settings()])
    client_file = listeners.client_properties
    try:
        run_with_signals(lambda control: _serve(control, broker.cluster, settings, client_file), ThreadRuntime())
    except InterruptedRunError:
        return  # a server has no other end, so this is no failure


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
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                path.chmod(0o600)  # one that was there has kept its mode, by which others may read it
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
