"""The command line of `eosfw top`."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from eosfw.cli.connectors.client import RestTarget
from eosfw.cli.output.stdout import print_data
from eosfw.cli.parsing.limits import seconds
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import EosfwError

if TYPE_CHECKING:
    from eosfw.cli.top.look import Look


def command(
    target: RestTarget,
    *,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.", callback=seconds)] = 2.0,
) -> None:
    """Show a worker group live: its workers, connectors with their rates, who holds readers back.

    Ctrl-C ends it. Into a pipe or a file it writes one picture after two looks, from which it has the rates.
    Credentials are taken from the environment: EOSFW_REST_TOKEN, or EOSFW_REST_USER and EOSFW_REST_PASSWORD. Only
    workers on the host of --url get them; from others, those that ask for credentials, there are no rates.
    """
    from eosfw.cli.output.console import TerminalStyle, draw
    from eosfw.cli.top.look import look
    from eosfw.cli.top.screen import screen

    runtime = ThreadRuntime()
    first = look(target, runtime.now, runtime.wall)
    if sys.stdout.isatty():
        with suppress(KeyboardInterrupt):
            _follow(target, first, interval, runtime)
    else:
        runtime.sleep(interval)
        now = look(target, runtime.now, runtime.wall)
        print_data(draw(screen(now, first), TerminalStyle.of_stdout()))


def _follow(target: RestTarget, first: Look, interval: float, runtime: ThreadRuntime) -> NoReturn:
    from rich.console import Console, Group
    from rich.live import Live

    from eosfw.cli.output.console import plain_text
    from eosfw.cli.top.look import look
    from eosfw.cli.top.screen import screen

    console, before = Console(), first
    with Live(Group(*screen(first, None, console.height)), console=console, screen=True, auto_refresh=False) as live:
        while True:
            runtime.sleep(interval)
            try:
                now = look(target, runtime.now, runtime.wall)
                live.update(Group(*screen(now, before, console.height)), refresh=True)
                before = now
            except EosfwError as why:  # it may come back; until then what was seen last is no news
                live.update(plain_text(f"{why}", "bold red"), refresh=True)
