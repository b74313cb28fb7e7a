"""Offer `eosfw broker`: the embedded broker as a process, for any Kafka client (ruling 19)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from eosfw.cli.addresses import listener
from eosfw.cli.stdout import say
from eosfw.errors import ConfigError, InterruptedRunError, Problem

if TYPE_CHECKING:
    from eosfw.pipeline import Control


def command(
    *,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0 takes a free one.")] = (
        "127.0.0.1:9092"
    ),
    advertised: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where clients find the broker; needed for a host other than loopback."),
    ] = None,
    properties: Annotated[
        list[str] | None, typer.Option("--property", metavar="KEY=VALUE", help="A broker property; may be repeated.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Which cluster, where several are installed.")] = None,
) -> None:
    """Serve an embedded, Kafka-compatible broker until Ctrl-C or SIGTERM; what it holds lives in memory."""
    from eosfw.cli.supervising import supervised
    from eosfw.waiting import ThreadRuntime

    settings = dict(map(_pair, properties or []))
    settings["listeners"] = f"PLAINTEXT://{listener('--listen', listen)}"
    if advertised is not None:
        settings["advertised.listeners"] = f"PLAINTEXT://{listener('--advertised', advertised)}"
    try:
        supervised(lambda control: _serve(control, cluster, settings), ThreadRuntime())
    except InterruptedRunError:
        return  # how a server ends


def _serve(control: Control, cluster: str | None, settings: dict[str, str]) -> None:
    from contextlib import closing

    from eosfw.registry import load_plugins

    with closing(load_plugins().cluster(cluster).start(settings, control.runtime)) as serving:
        say(f"listening on {serving.bootstrap_servers}")
        while not control.stopping:
            control.pause(3600.0)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(Problem("--property", f"{text!r} is not written KEY=VALUE"))
    return name, value
