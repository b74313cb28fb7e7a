"""A backend closes the resources it created that are still referenced."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from eosfw.closeables import WeakCloseables, open_both, run_all
from eosfw.concurrency import ThreadRuntime


class Thing:
    """A resource that records its close."""

    def __init__(self, name: str, closed: list[str], then: Callable[[], object] = lambda: None) -> None:
        self.name, self._closed, self._then = name, closed, then

    def close(self) -> None:
        self._closed.append(self.name)
        self._then()


def test_held_resources_are_closed_and_dropped_ones_not_kept() -> None:
    """Backend.close: what this backend still holds; a backend of many readers does not grow."""
    closed: list[str] = []
    made = WeakCloseables(ThreadRuntime())
    held = made.add(Thing("held", closed))
    made.add(Thing("dropped", closed))
    gc.collect()

    made.close()

    assert (held.name, closed) == ("held", ["held"])


def test_resources_can_be_registered_while_others_are_closed() -> None:
    """Common rules: thread-safe, and close may be called twice."""
    closed: list[str] = []
    made = WeakCloseables(ThreadRuntime())
    late: list[Thing] = []
    first = made.add(Thing("first", closed, lambda: late.append(made.add(Thing("late", closed)))))

    made.close()
    assert closed == ["first"]

    made.close()
    assert sorted(closed[1:]) == ["first", "late"]
    assert first.name == "first"


def test_a_step_of_a_close_that_raises_leaves_out_none_behind_it() -> None:
    """What is not closed then would keep its connections, and its place in a group, until the process ends."""
    done: list[str] = []

    def fail() -> None:
        done.append("fails")
        raise OSError("no answer")

    with pytest.raises(OSError, match="no answer"):
        run_all(lambda: done.append("first"), fail, lambda: done.append("last"))

    assert done == ["first", "fails", "last"]


def test_a_client_is_closed_if_the_one_that_is_used_with_it_cannot_be_made() -> None:
    closed: list[str] = []

    def fail() -> Thing:
        raise OSError("too many open files")

    with pytest.raises(OSError, match="too many"):
        open_both(lambda: Thing("first", closed), fail)

    assert closed == ["first"]
