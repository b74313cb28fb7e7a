"""Write 0, 1, 2, ..., each exactly once despite restarts of the writer."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from eosfw.errors import AbortableError
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, TransactionalProducer
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record


@dataclass(frozen=True, slots=True)
class Names:
    """Topic, transactional id and group of a count."""

    topic: str
    own: str
    group: str
    partitions: int

    @classmethod
    def fresh(cls, lab: BackendHarness, partitions: int = 1) -> Names:
        """Names of a new count."""
        return cls(lab.topic(partitions), lab.name(), lab.name(), partitions)

    def words(self) -> dict[str, object]:
        """The names as plain values, for another process."""
        return asdict(self)


@dataclass(slots=True)
class Counter:
    """Writes each number to every partition; how far it is commits with that, so a restart knows where to go on."""

    lab: BackendHarness
    names: Names
    group: ConsumerGroupMetadata = field(init=False)

    def __post_init__(self) -> None:
        self.group = ConsumerGroupMetadata(self.names.group)

    @property
    def topic(self) -> str:
        return self.names.topic

    @property
    def own(self) -> str:
        return self.names.own

    def start(self) -> TransactionalProducer:
        """A producer that has initialised the id and fenced earlier producers."""
        return self.lab.producer(self.own)

    def count(self, producer: TransactionalProducer, until: int, patience: float, **steps: float) -> None:
        """Continue behind the committed count; retry after an abort. Steps may have a patience of their own."""
        while (number := self._done()) < until:
            producer.begin_transaction()
            try:
                for partition in range(self.names.partitions):
                    producer.send(record(self.topic, str(number).encode(), partition))
                    producer.flush(steps.get("flush", patience))
                producer.send_offsets({self._here: number + 1}, self.group, steps.get("send_offsets", patience))
                producer.commit_transaction(steps.get("commit", patience))
            except AbortableError:
                producer.abort_transaction(WAIT)

    @property
    def counted(self) -> list[bytes | None]:
        """What a reader at read_committed sees once everything is decided, partition by partition."""
        return self.lab.values(self.topic)

    @property
    def _here(self) -> TopicPartition:
        return TopicPartition(self.topic, 0)

    def _done(self) -> int:
        return self.lab.admin.group_offsets(self.group.group_id, [self._here]).get(self._here, 0)
