"""Whose turn it is among many: those that wait for a time, and those that are due."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Member = TypeVar("Member")


class Turns(Generic[Member]):
    """Members that are due, in the order in which they became so, and members that wait.

    A turn costs the same among ten members as among ten thousand, up to a logarithm.
    """

    def __init__(self, members: Iterable[Member] = ()) -> None:
        self._due = deque(members)
        self._waiting: list[tuple[float, int, Member]] = []
        self._numbers = count()

    def next(self, now: float) -> Member | None:
        """Take out the member whose turn it is; None if all have to wait."""
        while self._waiting and self._waiting[0][0] <= now:
            self._due.append(heappop(self._waiting)[2])
        return self._due.popleft() if self._due else None

    def put_back(self, member: Member, until: float | None) -> None:
        """Let it wait until a time, or, without one, for the others that are due."""
        if until is None:
            self._due.append(member)
        else:
            heappush(self._waiting, (until, next(self._numbers), member))

    @property
    def all_wait(self) -> bool:
        """Whether nobody was due when somebody last asked."""
        return not self._due

    @property
    def members(self) -> Iterator[Member]:
        """All that are in it."""
        yield from self._due
        yield from (member for _, _, member in self._waiting)
