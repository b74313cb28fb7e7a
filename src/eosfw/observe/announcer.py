"""Tell every observer of a step, whatever one of them does."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from eosfw.protocols import Observer
from eosfw.state.steps import StepEvent

logger = logging.getLogger(__name__)


class Announcer:
    """Call it with an event on the acting thread, holding no lock: an observer may block.

    Observers hear in the order given, so whoever records comes before whoever blocks.
    """

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def __call__(self, event: StepEvent) -> None:
        for observer in self._observers:
            try:
                observer.observe(event)
            except Exception:  # an observer is a guest: its failure must not change what is observed
                logger.exception("observer %r failed at step %s; the others go on", _name(observer), event.step.value)


def _name(observer: Observer) -> str:
    return getattr(observer, "name", type(observer).__name__)
