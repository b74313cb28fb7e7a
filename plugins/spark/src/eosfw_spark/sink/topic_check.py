"""Whether rows may go to the topics that they name."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from eosfw.errors import ConfigError, Problem, UnknownTopicOrPartitionError
from eosfw.protocols import Backend
from eosfw_spark.source.topic_pattern import INTERNAL


class TopicCheck:
    """Refuses a topic before the first row is sent: one that does not exist might be created by it.

    Rows for a topic of the cluster's own are refused by brokers, by which time the transaction waits for them.
    """

    def __init__(self, backend: Backend, writer: str) -> None:
        self._backend = backend
        self._writer = writer
        self._known: set[str] = set()

    def require(self, topics: Iterable[str]) -> None:
        """Raise UnknownTopicOrPartitionError unless all topics exist; each is asked for once.

        ConfigError where one is of the cluster's own.
        """
        unseen = set(topics) - self._known
        if not unseen:
            return
        if internal := sorted(unseen & INTERNAL):
            what = f"{self._writer} cannot write to {', '.join(internal)}"
            raise ConfigError(Problem(what, "that is a topic of the cluster's own; name another one"))
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
