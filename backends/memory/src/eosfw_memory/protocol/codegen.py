"""Make functions from lines of Python: what happens to every message is done by one function, not by many calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class Lines:
    """Collects the lines of one function, with what they know by name."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = dict(names)
        self._lines: list[str] = []
        self._depth = 1

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, *lines: str) -> None:
        """Put lines behind the others."""
        self._lines += ("    " * self._depth + line for line in lines)

    @contextmanager
    def within(self, depth: int = 1) -> Iterator[None]:
        """Put what is added meanwhile so many levels deeper."""
        self._depth += depth
        yield
        self._depth -= depth

    def function(self, head: str, end: str) -> Callable[..., Any]:
        """What the lines do, between a head such as `step(frame, at)` and an end."""
        source = "\n".join((f"def {head}:", *self._lines, f"    {end}"))
        exec(source, self.names)  # noqa: S102 the lines are those of the broker's own modules, with numbers and names put in
        made: Callable[..., Any] = self.names[head.partition("(")[0]]
        return made
