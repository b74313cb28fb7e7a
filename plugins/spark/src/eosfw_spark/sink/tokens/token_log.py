"""The topic of tokens (as Kafka Connect's `OffsetBackingStore` has one of source offsets)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Final
from zlib import crc32

from eosfw.errors import (
    ClusterAuthorizationError,
    ConfigError,
    DamagedDataError,
    EosfwError,
    Problem,
    ReadStalledError,
    TopicAuthorizationError,
    TopicExistsError,
    UnsupportedError,
    one_line,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, Backend, IsolationLevel, NewTopic
from eosfw.records import OffsetRange, ProducerBatch
from eosfw_spark.sink.tokens.token import Token, decode, encode

TOPIC: Final = "__eos_tokens"
PARTITIONS: Final = 25
"""As many as Kafka Connect gives its offsets topic: an open transaction of one query holds up few others."""
_POLICY: Final = "cleanup.policy"
_CONFIG: Final = {_POLICY: "compact"}
_WINDOW: Final = 1_000
"""Offsets that the first read looks at; the token of a query that runs is among the last."""
_GROWTH: Final = 8
_BROKER_DEFAULT: Final = -1
_NOT_ALLOWED: Final = (TopicAuthorizationError, ClusterAuthorizationError, UnsupportedError)


@dataclass(slots=True)
class TokenLog:
    """Reads tokens by their keys, and makes the records that write them."""

    backend: Backend
    topic: str = TOPIC
    stall_timeout: float = 60.0
    """How long a read waits for the open transaction of another query, in seconds."""
    _partitions: int = field(default=0, init=False)

    def ensure(self) -> None:
        """Create the topic unless it exists; ConfigError if it is not compacted, since tokens would be lost."""
        with closing(self.backend.admin()) as admin:
            self._partitions = admin.partitions([self.topic]).get(self.topic, 0) or self._create(admin)
            self._refuse_unfit(admin)

    def record(self, key: str, token: Token) -> ProducerBatch:
        """The record that writes a token; it must be in the transaction of the batch's rows."""
        where = self.partition(key).partition
        value = encode(replace(token, log_partitions=self._partitions))
        return ProducerBatch(self.topic, [value], [key.encode()], where)

    def tombstone(self, key: str) -> ProducerBatch:
        """The record that deletes a token."""
        return ProducerBatch(self.topic, [None], [key.encode()], self.partition(key).partition)

    def read(self, key: str, up_to: IsolationLevel = IsolationLevel.READ_UNCOMMITTED) -> Token | None:
        """The last committed token of a key; call it after the key's transactional id was fenced.

        It reads up to the high watermark, not to the last stable offset: the open transaction of another query may lie
        below this query's token. Who looks at the token of another writer, and must not wait for it, says otherwise.
        Where the topic was given partitions, the token is where its key belonged before.
        """
        if not self._partitions:
            self.ensure()
        with closing(self.backend.admin()) as admin:
            # Asked each time: a process may keep this for longer than the topic has so many.
            self._partitions = admin.partitions([self.topic]).get(self.topic, self._partitions)
            own = self.partition(key)
            found = self._last(admin, own, key, up_to)
            if found is None and self._partitions == PARTITIONS:  # as many as it was created with
                return None
            if found is not None and found.log_partitions in (0, self._partitions):
                return found
            others = (TopicPartition(self.topic, each) for each in range(self._partitions) if each != own.partition)
            tokens = [found, *(self._last(admin, each, key, up_to) for each in others)]
        written = [each for each in tokens if each is not None]
        return max(written, key=lambda one: (one.batch, one.writers), default=None)

    def _last(self, admin: Admin, where: TopicPartition, key: str, up_to: IsolationLevel) -> Token | None:
        """The last token of a key in one partition."""
        wanted = key.encode()
        end = admin.end_offsets([where], up_to)[where]
        start = admin.log_start_offsets([where])[where]
        window = _WINDOW
        while start < end:
            low = max(start, end - window)
            found = self._last_values(where, OffsetRange(low, end), wanted)
            if found or low == start:
                value = found.get(wanted)
                try:
                    return None if value is None else decode(value)
                except DamagedDataError as why:
                    raise DamagedDataError(f"topic {self.topic}, key {key}: {why}") from why
            window *= _GROWTH
        return None

    def partition(self, key: str) -> TopicPartition:
        """Where the tokens of a key are."""
        if not self._partitions:
            self.ensure()
        return TopicPartition(self.topic, crc32(key.encode()) % self._partitions)

    def _last_values(self, where: TopicPartition, offsets: OffsetRange, key: bytes) -> dict[bytes, bytes | None]:
        found: dict[bytes, bytes | None] = {}
        with closing(self.backend.reader(IsolationLevel.READ_COMMITTED)) as reader:
            try:
                for batch in reader.read({where: offsets}, self.stall_timeout):
                    for each, value in zip(batch.keys, batch.values, strict=True):
                        if each == key:
                            found[key] = value
            except ReadStalledError as error:
                raise ReadStalledError(f"{error}; {self._blocker(where)}", waiting=error.waiting) from error
        return found

    def _blocker(self, where: TopicPartition) -> str:
        if self.backend.capabilities.lacking("describe_transactions"):
            return f"see `eosfw txn list --state Ongoing` for the transaction that holds {where} back"
        try:
            with closing(self.backend.admin()) as admin:
                oldest = max(admin.open_transactions([where]), key=lambda one: one.age, default=None)
        except EosfwError as why:  # the stall is the error to report
            return f"who holds {where} back could not be found out: {one_line(why)}"
        if oldest is None:
            return f"nothing holds {where} back any more: try again"
        return (
            f"transactional id {oldest.transactional_id!r} holds {where} back for {oldest.age:.0f} s; its transaction "
            f"timeout ends it, or now: eosfw txn fence {oldest.transactional_id}"
        )

    def _create(self, admin: Admin) -> int:
        try:
            admin.create_topics([NewTopic(self.topic, PARTITIONS, _BROKER_DEFAULT, _CONFIG)])
        except TopicExistsError:  # another query was faster, maybe with another number of partitions
            return admin.partitions([self.topic]).get(self.topic, PARTITIONS)
        return PARTITIONS

    def _refuse_unfit(self, admin: Admin) -> None:
        try:
            policy = admin.topic_config(self.topic).get(_POLICY, "compact")
        except _NOT_ALLOWED:  # this principal may be allowed to read and write, yet not to describe
            return
        if policy.strip() != "compact":
            what = (
                f"topic {self.topic} has {_POLICY}={policy}; it must be compact alone, because its retention would "
                f"delete tokens, and batches would be published twice; set {_POLICY}=compact on it"
            )
            raise ConfigError(Problem("", what))
