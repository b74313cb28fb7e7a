"""Whether the other workers of a group can call this one."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from eosfw.loopback import is_loopback


def worker_name(host: str, pid: int, token: str) -> str:
    """The name of a worker in its group, unique among all processes on all machines."""
    return f"{host}-{pid}-{token}"


def unreachable_text(name: str, url: str | None, workers: Collection[str]) -> str | None:
    """Why other workers cannot call the worker of this name, and what to do; None if they can, as far as is seen.

    `url` is what it announces; `workers` are the names of all that take part in the newest assignment.
    """
    if len(workers) < 2:
        return None
    if url is None:
        return (
            f"the group has {len(workers)} workers, but this one has no REST interface, through which workers call "
            f"each other: install it with pip install 'eosfw[rest]', or run this worker alone"
        )
    elsewhere = sorted({_host(one) for one in workers} - {_host(name)})
    if not elsewhere or not is_loopback(urlsplit(url).hostname or ""):
        return None
    return (
        f"the group has workers on other machines ({', '.join(elsewhere)}), but this one announces {url}, where those "
        f"would call themselves: set rest.advertised.host.name to a name under which they reach it, and listeners"
    )


def _host(name: str) -> str:
    return name.rsplit("-", 2)[0]
