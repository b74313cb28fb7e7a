"""One look at a worker group, by the REST interfaces of its workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from eosfw.cli.connectors.client import RestClient, RestTarget, is_same_host
from eosfw.cli.top.counts import Counts, counts_of
from eosfw.errors import EosfwError

_WAIT: Final = 2.0
"""Seconds for which another worker's metrics are waited for."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen at one time."""

    at: float
    """Seconds on a clock that never goes back."""
    wall: float
    """Seconds since 1970."""
    group: Mapping[str, Any]
    """As `GET /group` shows it."""
    statuses: Sequence[Mapping[str, Any]]
    """Of each connector, as `GET /connectors?expand=status` shows it."""
    transactions: Sequence[Mapping[str, Any]]
    """As `GET /transactions` shows them; none where the worker's client cannot ask for them."""
    counts: Mapping[str, Counts]
    """By connector, over all workers that answered."""
    quiet: Sequence[str]
    """The URLs of workers that did not answer."""


def look(target: RestTarget, now: Callable[[], float], wall: Callable[[], float]) -> Look:
    """Look at the group of a worker; an EosfwError if that one does not answer."""
    client = RestClient(target)
    group = client.get("group")
    statuses = [one["status"] for one in client.get("connectors", expand="status").values()]
    texts, quiet = [], []
    for url in [worker["url"] for worker in group["workers"] if worker["url"]]:
        # Whoever joins the group advertises a URL. Credentials are for the host that the user has named.
        trusted = is_same_host(target.url, url)
        other = replace(target, url=url, timeout=min(target.timeout, _WAIT))
        try:
            texts.append(RestClient(other, credentials=trusted).text("metrics"))
        except EosfwError:
            quiet.append(url)
    return Look(now(), wall(), group, statuses, _transactions(client), counts_of(texts), quiet)


def _transactions(client: RestClient) -> Sequence[Mapping[str, Any]]:
    try:
        found: Sequence[Mapping[str, Any]] = client.get("transactions")
    except EosfwError:
        return ()
    return found
