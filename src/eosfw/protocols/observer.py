"""The contract of a listener to every step of tasks and of the leader."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from eosfw.state.steps import StepEvent


@runtime_checkable
class Observer(Protocol):
    """Hears of every step. Called on the acting thread with no lock held, so blocking holds that task or leader up:
    that is how a zombie is made. An exception is logged and ignored. Instances are made without arguments."""

    name: ClassVar[str]

    def observe(self, event: StepEvent) -> None:
        """Take note of one step; called by many threads."""
