"""Run connectors of a worker group in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from eosfw.config import Config
from eosfw.protocols import Backend
from eosfw.runtime.status import WorkerStatus
from eosfw.state.steps import StepEvent
from eosfw.waiting import Runtime

if TYPE_CHECKING:
    from eosfw.registry import Plugins


class Worker:
    """A worker group of one process under full distributed rules (ruling 5)."""

    def __init__(
        self,
        config: Config,
        backend: Backend,
        plugins: Plugins,
        announce: Callable[[StepEvent], None],
        runtime: Runtime,
    ) -> None:
        raise SystemExit("being written")

    def start(self) -> None:
        """Create internal topics, claim leadership, read the config log; ClusterUnavailableError within the deadline."""

    def put_connector(self, name: str, properties: Mapping[str, str]) -> int:
        """Commit a connector's configuration anew, replace its tasks; return the new generation.

        Tasks of the old generation get `task.shutdown.graceful.timeout.ms` together to stop; those that do not are
        abandoned and reported as zombies. SupersededError when a newer run of the group took over.
        """
        return 0

    def remove_connector(self, name: str) -> None:
        """Stop a connector's tasks, delete its configuration; its task count record stays, so re-creation fences."""

    def status(self) -> WorkerStatus:
        """What every task does now; cheap, callable from any thread."""
        return WorkerStatus("")

    def drained(self, idle: float) -> bool:
        """Whether every task said it is at its end, or does not know and was idle for `idle` seconds (ruling 12).

        Failed, superseded and stopped tasks do not count as drained: look at `status`. A drained run may have an open
        transaction at interval boundaries: `stop` commits it.
        """
        return False

    def stop(self, timeout: float | None = None) -> None:
        """Stop cleanly: each task finishes its batch and commits (TXN-11); after `timeout` seconds (default
        `task.shutdown.graceful.timeout.ms`) producers are closed, so what is still open aborts (ruling 16)."""

    def kill(self) -> None:
        """Close every producer at once, so that open transactions abort; from any thread, also during `stop`."""
