"""The settings of a session that hosts tasks, by its master."""

from __future__ import annotations

import re
import socket
import tempfile
from collections.abc import Mapping
from typing import Final

from eosfw.protocols import TaskHostSettings

_LOOPBACK: Final = "127.0.0.1"
_THREADS: Final = re.compile(r"local(?:\[(?:\*|\d+)(?:\s*,\s*\d+)?\])?")
_LOCAL_CLUSTER: Final = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\]")
_STANDALONE: Final = "spark://"
_CONNECT: Final = 8.0
"""Seconds within which a standalone master accepts a connection; Spark asks a dead one for over a minute."""
_SLOT_CHECK: Final = 5
"""Seconds between two looks whether a barrier stage that starts again has its slots."""
_SLOT_CHECKS: Final = 60


def is_local(master: str) -> bool:
    """Whether all processes run on this machine, from this installation."""
    return bool(_THREADS.fullmatch(master) or _LOCAL_CLUSTER.fullmatch(master))


def master_problem(settings: TaskHostSettings) -> str | None:
    """Why executors could not be started or could not reach the cluster; None if they can, as far as is told."""
    if settings.master is None or is_local(settings.master):
        return None
    if settings.master != "yarn" and "://" not in settings.master:
        return (
            f"{settings.master!r} is no master: name local[CORES], local-cluster[EXECUTORS,CORES,MB], "
            "spark://HOST:PORT, yarn or k8s://https://HOST:PORT"
        )
    if not settings.embedded_broker:
        return None
    return (
        f"executors of {settings.master} run on other machines, and the embedded broker serves this one alone: name a "
        'cluster, [cluster] "bootstrap.servers" = "HOST:PORT"'
    )


def unreachable(master: str) -> str | None:
    """Why Spark would ask a standalone master in vain; None if one of its addresses accepts a connection."""
    addresses = master.removeprefix(_STANDALONE).split(",") if master.startswith(_STANDALONE) else []
    refused = []
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), _CONNECT / len(addresses)):
                return None
        except (OSError, ValueError) as why:
            refused.append(f"{address} ({why})")
    if not refused:
        return None
    return f"no Spark master accepts a connection at {', '.join(refused)}; start it, or name another by --master"


def most_slots(master: str) -> int | None:
    """How many tasks can run at the same time, if the master's own text says it."""
    if master == "local":
        return 1
    cluster = _LOCAL_CLUSTER.fullmatch(master)
    return int(cluster[1]) * int(cluster[2]) if cluster else None


def host_settings(master: str, conf: Mapping[str, str]) -> dict[str, str]:
    """The settings in which a session that hosts tasks differs from one for steps; `conf` wins."""
    own = {"spark.master": master, **_REQUIRED, **({} if is_local(master) else _remote())}
    if cluster := _LOCAL_CLUSTER.fullmatch(master):
        own["spark.executor.memory"] = f"{cluster[3]}m"
    return {**own, **conf}


_REQUIRED: Final[Mapping[str, str]] = {
    # A second attempt beside the first one would only fence it.
    "spark.speculation": "false",
    # A barrier stage, in which all tasks run at the same time, needs executors that stay.
    "spark.dynamicAllocation.enabled": "false",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": f"{_SLOT_CHECK}s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": str(_SLOT_CHECKS),
}


def _remote() -> dict[str, str]:
    """What differs where executors run on other machines, with an installation of their own."""
    return {
        "spark.driver.host": _own_address(),
        "spark.driver.bindAddress": "0.0.0.0",
        "spark.local.dir": tempfile.gettempdir(),
        # Ours imports eosfw; where that lacks, the check of the executors has to say so.
        "spark.python.daemon.module": "pyspark.daemon",
    }


def _own_address() -> str:
    """The address by which other machines reach this one, as far as its routes tell."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # reserved for documentation; nothing is sent
            return str(probe.getsockname()[0])
        except OSError:
            return _LOOPBACK
