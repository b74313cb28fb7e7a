"""Whether rows may go to the topics that they name, and whether these are the topics of the batches before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from eosfw.concurrency import Runtime
from eosfw.errors import ConfigError, DamagedDataError, Problem, UnknownTopicOrPartitionError
from eosfw.protocols import Admin, Backend
from eosfw_spark.sink.tokens.token import Token
from eosfw_spark.source.data_loss import same_topic
from eosfw_spark.source.topic_pattern import INTERNAL

METADATA_AGE: Final = 5.0
"""Seconds after which topics that are known are asked for again (Kafka's `metadata.max.age.ms`).

Some clients answer with all topics of a cluster: too much for each batch of each writer. What is written meanwhile goes
to the partitions that there were.
"""


class _Topic(NamedTuple):
    partitions: int
    topic_id: str | None


class TopicCheck:
    """Refuses a topic before the first row is sent: one that does not exist might be created by it.

    Rows for a topic of the cluster's own are refused by brokers, by which time the transaction waits for them.
    """

    def __init__(self, backend: Backend, writer: str, runtime: Runtime) -> None:
        self._backend = backend
        self._writer = writer
        self._runtime = runtime
        self._asked = runtime.now()
        self._admin: Admin | None = None
        self._known: Mapping[str, _Topic] = {}
        self._written: Mapping[str, str] = {}
        """What to do about topics of the batches before, if they are gone."""

    @property
    def ids(self) -> Mapping[str, str]:
        """The ids of the topics that were required, as far as the cluster has ids."""
        return {name: each.topic_id for name, each in self._known.items() if each.topic_id is not None}

    def require(self, topics: Iterable[str]) -> None:
        """Raise UnknownTopicOrPartitionError unless all topics exist; each is asked for once.

        ConfigError where one is of the cluster's own.
        """
        unseen = set(topics) - set(self._known)
        if not unseen:
            return
        if internal := sorted(unseen & INTERNAL):
            what = f"{self._writer} cannot write to {', '.join(internal)}"
            raise ConfigError(Problem(what, "that is a topic of the cluster's own; name another one"))
        found = self._ask(unseen)
        missing = sorted(unseen - set(found))
        if gone := [name for name in missing if name in self._written]:
            raise DamagedDataError(
                f"{self._writer} cannot write: there is no topic {', '.join(gone)} any more, to which it has published "
                f"batches: the topic was deleted, and their rows are gone; create it; {self._written[gone[0]]}"
            )
        if missing:
            raise UnknownTopicOrPartitionError(
                f"{self._writer} cannot write: there is no topic {', '.join(missing)}; create it first"
            )
        self._known = {**self._known, **found}

    def require_partition(self, topic: str, partition: int | None) -> None:
        """Require a topic; DamagedDataError for a partition that it does not have, which a client may not name."""
        self.require([topic])
        if partition is None or partition < self._known[topic].partitions:
            return
        self._known = {**self._known, **self._ask([topic])}  # it may have more by now
        count = self._known[topic].partitions
        if partition >= count:
            raise DamagedDataError(f"a row has the partition {partition}, and topic {topic} has {count} partitions")

    def have_changed(self) -> bool:
        """Whether a required topic has more partitions by now, or is another one.

        A producer that is kept sends to the partitions that it saw first, until its metadata is too old.
        """
        if not self._known or self._runtime.now() < self._asked + METADATA_AGE:
            return False
        return self._ask(self._known) != self._known

    def refuse_replaced(self, last: Token, remedy: str) -> None:
        """Raise DamagedDataError if a topic was deleted and created again since the last batch, whose rows are gone.

        Afterwards these topics count as required: `have_changed` tells if one of them is created again later.
        """
        if not last.topics:
            return
        self._written = dict.fromkeys(last.topics, remedy)
        now = self._ask(last.topics)
        for name, old in sorted(last.topics.items()):
            if name in now and same_topic(old, now[name].topic_id) is False:
                raise DamagedDataError(
                    f"{self._writer} published batch {last.batch} to topic {name} with id {old}, and now that name has "
                    f"id {now[name].topic_id}: the topic was deleted and created again, and the rows of the batches "
                    f"before are gone; {remedy}"
                )
        self._known = {**self._known, **now}

    def close(self) -> None:
        """Ask for every topic again: after a failure it may be gone."""
        admin, self._admin, self._known = self._admin, None, {}
        if admin is not None:
            admin.close()

    def _ask(self, topics: Collection[str]) -> Mapping[str, _Topic]:
        """Those of the topics that exist."""
        if self._admin is None:
            self._admin = self._backend.admin()
        self._asked = self._runtime.now()
        partitions, ids = self._admin.partitions(topics), self._admin.topic_ids(topics)
        return {name: _Topic(count, ids.get(name)) for name, count in partitions.items()}
