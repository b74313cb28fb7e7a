"""What commands that work for long do with the objects that they find."""

from __future__ import annotations

import weakref

from eosfw.cli.loaded_objects import keep_loaded_objects


class Client:
    """A client that refers to itself, as one does that keeps its last error."""

    def __init__(self) -> None:
        self.last_error = self


def test_garbage_is_freed_before_the_rest_is_kept() -> None:
    """A program that calls `eosfw run` itself loses no client to it, whose threads would go on for ever."""
    client = weakref.ref(Client())

    keep_loaded_objects()

    assert client() is None
