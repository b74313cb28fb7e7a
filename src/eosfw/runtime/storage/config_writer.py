"""Writes to the config topic by the leader of a group (Kafka Connect's `ConfigBackingStore`, its writing half)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from eosfw.concurrency import FairLock, Runtime
from eosfw.config import Config, clients
from eosfw.config.clients import ProducerSettings
from eosfw.config.worker import SUPPORT
from eosfw.errors import (
    ClusterUnavailableError,
    EosfwError,
    ExitCode,
    IllegalStateError,
    PrivilegedWriteError,
    RecordTooLargeError,
    TopicAuthorizationError,
    TransactionalIdAuthorizationError,
)
from eosfw.ids import leader_transactional_id
from eosfw.protocols import Backend, TransactionalProducer
from eosfw.records import ProducerRecord
from eosfw.runtime.storage.config_topic import ConfigTopic, log_warnings
from eosfw.runtime.storage.kafka_based_log import READ_TIMEOUT
from eosfw.state.storage.config_records import WRITER, ConfigRecord

_NOT_ALLOWED = (TopicAuthorizationError, TransactionalIdAuthorizationError)


class WriteNotAllowedError(PrivilegedWriteError):
    """A right is missing on the cluster, which no new claim brings."""

    exit_code = ExitCode.CONFIGURATION


class ConfigWriter:
    """Owns the leader's producer (Kafka Connect's `KafkaConfigBackingStore`, as far as it writes).

    There is one write at a time. Each has a transaction of its own and is read back (LDR-01..03). Without `group_id`
    the writer uses no transactions, as a group does that has exactly-once disabled.
    """

    def __init__(
        self,
        backend: Backend,
        topic: ConfigTopic,
        runtime: Runtime,
        *,
        group_id: str | None,
        worker: str,
        settings: ProducerSettings,
    ) -> None:
        self.transactional_id = None if group_id is None else leader_transactional_id(group_id)
        self._backend = backend
        self._topic = topic
        self._worker = worker
        self._settings = settings
        self._producer: TransactionalProducer | None = None
        self._was_claimed = False
        self._now = runtime.now
        self._lock = FairLock(runtime)

    def claim(self) -> None:
        """Fence the worker that holds the write privilege, then read everything that it wrote."""
        with self._locked():
            self._drop()
            self._was_claimed = True
            producer = self._backend.producer(
                self.transactional_id,
                transaction_timeout=self._settings.transaction_timeout,
                properties=self._settings.properties,
            )
            try:
                # Fence first, then read: what the leader before committed is then complete, and nothing can follow.
                if self.transactional_id is not None:
                    producer.init_transactions(READ_TIMEOUT)
                self._topic.read_to_end()
            except BaseException:
                producer.close(0)
                raise
            self._producer = producer

    def write_unprivileged(self, records: Sequence[ConfigRecord]) -> None:
        """Write what any worker may write, without a privilege to claim first (LDR-03)."""
        if self._producer is None:
            self.claim()
        self.write(records)

    def write(self, records: Sequence[ConfigRecord], check: Callable[[], object] = lambda: None) -> None:
        """Write records in one transaction and read them back; after a failure the privilege must be claimed again.

        `check` may raise to refuse the write. It runs under the writer's lock: no other write of this process comes
        between the check and the records.
        """
        with self._locked():
            if self._producer is None:
                # Lost in an earlier write, it can be claimed again; never claimed, the caller is wrong.
                lost = PrivilegedWriteError if self._was_claimed else IllegalStateError
                raise lost("no privilege to write to the config topic: claim leadership first")
            check()
            deadline = self._now() + READ_TIMEOUT  # for acknowledgement and reading together (LOG-07)
            topic = self._topic.partition.topic
            with self._privileged(topic):
                self._deliver(self._producer, topic, records)
                self._topic.read_to_end(max(0.0, deadline - self._now()))

    def write_to(self, topic: str, records: Sequence[ConfigRecord]) -> None:
        """Write records to another topic of the group in one transaction, with the same privilege."""
        with self._locked():
            if self._producer is None:
                raise PrivilegedWriteError(f"no privilege to write to topic {topic}: claim leadership first")
            with self._privileged(topic):
                self._deliver(self._producer, topic, records)

    @contextmanager
    def _privileged(self, topic: str) -> Iterator[None]:
        try:
            yield
        except RecordTooLargeError as error:
            self._discard()
            raise RecordTooLargeError(
                f"nothing was written to topic {topic} of the worker group, for which it is too large: {error}. "
                f"Shorten it, or raise max.message.bytes of that topic and producer.max.request.size of the workers"
            ) from error
        except EosfwError as error:
            # Its outcome may be unknown, and only a new claim reads what was committed after all.
            self._drop()
            lost = WriteNotAllowedError if isinstance(error, _NOT_ALLOWED) else PrivilegedWriteError
            raise lost(f"could not write to config topic {topic}: {error}") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock.held(self._now() + READ_TIMEOUT) as mine:
            if not mine:
                raise ClusterUnavailableError(
                    f"the writer of config topic {self._topic.partition.topic} was busy for {READ_TIMEOUT:g} s; "
                    f"the call before it still waits for the cluster"
                )
            yield

    def _deliver(self, producer: TransactionalProducer, topic: str, records: Sequence[ConfigRecord]) -> None:
        if self.transactional_id is not None:
            producer.begin_transaction()
        # By this header a task that was replaced names the worker that took over; Kafka Connect ignores it.
        headers = ((WRITER, self._worker.encode()),)
        for key, value in records:
            producer.send(ProducerRecord(topic, value, key, partition=0, headers=headers))
        if self.transactional_id is not None:
            producer.commit_transaction(READ_TIMEOUT)
        else:
            producer.flush(READ_TIMEOUT)

    def _discard(self) -> None:
        """End what was begun and refused, and keep the privilege: nobody has taken it."""
        if self._producer is None or self.transactional_id is None:
            return
        try:
            self._producer.abort_transaction(READ_TIMEOUT)
        except EosfwError:  # the refusal is raised, and the next write claims the privilege again
            self._drop()

    def _drop(self) -> None:
        if self._producer is not None:
            self._producer.close(0)
            self._producer = None

    def close(self) -> None:
        """Close the producer; from any thread."""
        # Without the lock: a write that waits for the cluster holds it, and ends once its producer is closed.
        self._drop()


def leaders_writer(config: Config, backend: Backend, topic: ConfigTopic, runtime: Runtime, worker: str) -> ConfigWriter:
    """The writer of the group's leader, which needs the privilege to write unless exactly-once is disabled (LDR-01)."""
    group = None if config[SUPPORT] == "disabled" else config["group.id"]
    producer = clients.leader_producer(config, leader_transactional_id(config["group.id"]))
    if group is not None:
        log_warnings(producer)
    return ConfigWriter(backend, topic, runtime, group_id=group, worker=worker, settings=producer)


def unprivileged_writer(
    config: Config, backend: Backend, topic: ConfigTopic, runtime: Runtime, worker: str
) -> ConfigWriter:
    """A writer of what any worker may write: target states and levels of loggers (LDR-03)."""
    settings = clients.plain_producer(config)
    return ConfigWriter(backend, topic, runtime, group_id=None, worker=worker, settings=settings)
