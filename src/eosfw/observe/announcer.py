"""Announcement of steps to every observer."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from eosfw.protocols import Observer
from eosfw.state.steps import StepEvent

logger = logging.getLogger(__name__)


class Announcer:
    """Called with an event by the acting thread, which must hold no lock: an observer may block.

    Observers are called in the order given: one that records belongs before one that blocks.
    """

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def __call__(self, event: StepEvent) -> None:
        for observer in self._observers:
            try:
                observer.observe(event)
            except Exception:  # the failure of an observer must not change what is observed
                logger.exception("observer %r failed at step %s; the others go on", _name(observer), event.step.value)


def _name(observer: Observer) -> str:
    return getattr(observer, "name", type(observer).__name__)
