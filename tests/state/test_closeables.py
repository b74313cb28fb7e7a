"""A backend closes what it made, unless nobody has it any more."""

from __future__ import annotations

import gc
from collections.abc import Callable

from eosfw.closeables import WeakCloseables
from eosfw.concurrency import ThreadRuntime


class Thing:
    """Tells when it is closed."""

    def __init__(self, name: str, told: list[str], then: Callable[[], object] = lambda: None) -> None:
        self.name, self._told, self._then = name, told, then

    def close(self) -> None:
        self._told.append(self.name)
        self._then()


def test_held_resources_are_closed_and_dropped_ones_not_kept() -> None:
    """Backend.close: what this backend still holds; a backend of many readers does not grow."""
    told: list[str] = []
    made = WeakCloseables(ThreadRuntime())
    held = made.add(Thing("held", told))
    made.add(Thing("dropped", told))
    gc.collect()

    made.close()

    assert (held.name, told) == ("held", ["held"])


def test_things_may_be_made_while_others_are_closed() -> None:
    """Common rules: thread-safe, and close may be called twice."""
    told: list[str] = []
    made = WeakCloseables(ThreadRuntime())
    late: list[Thing] = []
    first = made.add(Thing("first", told, lambda: late.append(made.add(Thing("late", told)))))

    made.close()
    assert told == ["first"]

    made.close()
    assert sorted(told[1:]) == ["first", "late"]
    assert first.name == "first"
