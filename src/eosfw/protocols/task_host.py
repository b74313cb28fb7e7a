"""The contract of a step engine that also runs tasks of connectors, each in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from eosfw.errors import EosfwError, Problem

__all__ = ["TaskHost", "TaskHostSession", "TaskHostSettings", "TaskJob", "TaskJobSpec"]


@dataclass(frozen=True, slots=True)
class TaskHostSettings:
    """Where a host finds its processes."""

    master: str | None = None
    """The cluster manager, in the host's own words (`--master`); None leaves it to the host."""
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Settings of the host (`--conf`)."""
    embedded_broker: bool = False
    """Whether tasks write to a broker that serves this machine alone."""


@dataclass(frozen=True, slots=True)
class TaskJobSpec:
    """The tasks of one generation of a connector, as a host starts them."""

    name: str
    """For people."""
    tasks: Sequence[str] = field(repr=False)
    """What `eosfw.runtime.run_hosted_task` takes, for each task; it may hold secrets."""
    requires: Mapping[str, str] = field(default_factory=dict)
    """The distributions that a process needs, with their versions."""
    committed: Callable[[], int] = lambda: 0
    """How many records the tasks have committed up to now: what dies again and again without one more is given up."""


class TaskJob(Protocol):
    """The processes of one job."""

    def cancel(self) -> None:
        """End them at once; from any thread, does not wait."""


class TaskHostSession(Protocol):
    """Starts processes, and starts them again when they die; thread-safe."""

    address: str
    """The name or number by which the processes reach this machine."""
    bind_address: str
    """Where this process listens for them."""

    def submit(self, job: TaskJobSpec, on_end: Callable[[EosfwError | None], None]) -> TaskJob:
        """Start a process for each task, all at the same time, or raise ConfigError if there is no room for all.

        Each calls `eosfw.runtime.run_hosted_task(task, attempt)`; of two attempts at one task, the later has the
        greater number. Processes that die, or raise, are replaced as long as the host is willing. At last `on_end` is
        called, on any thread: with None when all have returned or the job was cancelled, else with the reason.
        """

    def close(self) -> None:
        """End everything that was started."""


@runtime_checkable
class TaskHost(Protocol):
    """What a step engine may implement besides: `eosfw run --engine NAME` has it run the connectors' tasks."""

    @classmethod
    def host_problems(cls, settings: TaskHostSettings) -> Sequence[Problem]:
        """What keeps it from hosting tasks with these settings; starts nothing."""

    @classmethod
    def start_host(cls, settings: TaskHostSettings) -> TaskHostSession:
        """Start it. An engine that is started for steps meanwhile uses the same session."""
