"""Whether the topics exist that rows go to."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from eosfw.errors import UnknownTopicOrPartitionError
from eosfw.protocols import Backend


class TopicCheck:
    """Refuses a topic that does not exist before the first row is sent, which might create it."""

    def __init__(self, backend: Backend, writer: str) -> None:
        self._backend = backend
        self._writer = writer
        self._known: set[str] = set()

    def require(self, topics: Iterable[str]) -> None:
        """Raise UnknownTopicOrPartitionError unless all topics exist; each is asked for once."""
        unseen = set(topics) - self._known
        if not unseen:
            return
        with closing(self._backend.admin()) as admin:
            missing = sorted(unseen - set(admin.partitions(sorted(unseen))))
        if missing:
            raise UnknownTopicOrPartitionError(
                f"{self._writer} cannot write: there is no topic {', '.join(missing)}; create it first"
            )
        self._known |= unseen

    def forget(self) -> None:
        """Ask for every topic again: after a failure it may be gone."""
        self._known.clear()
