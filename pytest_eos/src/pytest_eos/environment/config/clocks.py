"""Choose the clock of a test: virtual or real."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

CLOCKS = ("auto", "virtual", "real")
NEEDS_REAL = (
    "Time was virtual; a source that waits for threads or a network of its own needs the real clock: "
    '@pytest.mark.eos_clock("real")'
)
_SPARK = frozenset({"eos_spark", "_eos_spark"})


def clock_of(node: pytest.Item) -> str | None:
    """The clock that the closest marker names; UsageError if there is no such clock."""
    marker = node.get_closest_marker("eos_clock")
    if marker is None:
        return None
    if len(marker.args) != 1 or marker.kwargs or marker.args[0] not in CLOCKS:
        raise pytest.UsageError(f"{node.nodeid}: write @pytest.mark.eos_clock(CLOCK), one of: {', '.join(CLOCKS)}")
    name: str = marker.args[0]
    return name


def obstacles(
    backend: str,
    bootstrap_servers: str | None,
    fixtures: Collection[str],
    zombie_process: str | None = None,
    security: str | None = None,
) -> list[str]:
    """The reasons why a test cannot run in virtual time: parts of it run outside the thread of the test."""
    found = []
    if backend != "memory":
        found.append(f"backend {backend!r} has threads, sockets of its own")
    if bootstrap_servers is not None:
        found.append(f"the cluster at {bootstrap_servers} has a clock of its own")
    if security is not None:
        found.append(f"a cluster with security={security!r} is reached through sockets")
    if _SPARK & set(fixtures):
        found.append("the fixture `eos_spark` runs in other processes")
    if zombie_process is not None:
        found.append(f"the zombie is the {zombie_process} of a query, in processes of its own")
    return found


def is_virtual(wanted: str, in_the_way: Sequence[str], where: str) -> bool:
    """Whether a test runs in virtual time; UsageError if virtual time is wanted but impossible."""
    if wanted == "virtual" and in_the_way:
        raise pytest.UsageError(
            f"{where}: a virtual clock is impossible here, since {'; '.join(in_the_way)}. "
            'Use --eos-clock=auto, or mark the test @pytest.mark.eos_clock("real")'
        )
    return wanted != "real" and not in_the_way


def needs_real_clock(what: str) -> pytest.UsageError:
    """The error for a test in virtual time that uses something outside its thread."""
    return pytest.UsageError(
        f"{what} cannot take part in virtual time, which this test lives by: mark it "
        '@pytest.mark.eos_clock("real"), or use --eos-clock=real'
    )
