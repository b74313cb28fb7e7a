"""The contract for the deadlines of a backend's calls if no broker answers."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from eosfw.concurrency import Runtime
from eosfw.errors import ClusterUnavailableError, EosfwError, FatalError, IllegalStateError
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, IsolationLevel, NewTopic
from eosfw.records import OffsetRange
from pytest_eos.contracts.backends.harness import COMMITTED, WAIT, record
from pytest_eos.environment.clusters.cluster import runtime
from pytest_eos.environment.config.installed_plugins import installed_plugins

BOUND = 0.4
SLACK = 20.0
"""Seconds for a busy machine; less than the default timeouts of clients, which a forgotten deadline would use."""
ONE = TopicPartition("topic", 0)


def flushed(backend: Backend) -> None:
    """Write outside a transaction; Kafka's own producer waits for the cluster while it sends."""
    producer = backend.producer(None, properties={"max.block.ms": str(round(BOUND * 1000))})
    producer.send(record(ONE.topic, b"v"))
    producer.flush(BOUND)


def read(backend: Backend) -> None:
    """Read a record."""
    list(backend.reader(COMMITTED).read({ONE: OffsetRange(0, 1)}, BOUND))


def fenced(backend: Backend) -> None:
    """Fence an id with the fencer that is installed for the backend; raise its outcome."""
    fencer = installed_plugins().fencer(backend.name).connect(backend, {}, runtime())
    try:
        (outcome,) = fencer.fence(["id"], BOUND).values()
    finally:
        fencer.close()
    if outcome is not None:
        raise outcome


CALLS: dict[str, Callable[[Backend], object]] = {
    "init_transactions": lambda backend: backend.producer("id").init_transactions(BOUND),
    "flush": flushed,
    "read": read,
    "fence": fenced,
    "partitions": lambda backend: backend.admin().partitions(),
    "create_topics": lambda backend: backend.admin().create_topics([NewTopic("topic")]),
    "topic_config": lambda backend: backend.admin().topic_config("topic"),
    "end_offsets": lambda backend: backend.admin().end_offsets([ONE], IsolationLevel.READ_COMMITTED),
    "log_start_offsets": lambda backend: backend.admin().log_start_offsets([ONE]),
    "offsets_for_times": lambda backend: backend.admin().offsets_for_times({ONE: 0}, COMMITTED),
    "topic_ids": lambda backend: backend.admin().topic_ids([ONE.topic]),
    "open_transactions": lambda backend: backend.admin().open_transactions([ONE]),
    "cluster_id": lambda backend: backend.admin().cluster_id(),
    "describe_group": lambda backend: backend.admin().describe_group("group"),
    "max_transaction_timeout": lambda backend: backend.admin().max_transaction_timeout(),
}
"""Every call that needs a broker, with the deadline `BOUND`."""


class DeadlineContract:
    """Inherit it, define the fixture `kind`: the class of the backend. No cluster is needed."""

    @pytest.fixture
    def kind(self) -> type[Backend]:
        """The class of the backend under test."""
        raise pytest.UsageError(f"{type(self).__name__}: define a fixture `kind` that returns a class of backends")

    @pytest.fixture
    def runtime(self) -> Runtime:
        """The clock of the backend."""
        return runtime()

    @pytest.fixture(params=["nobody listens", "nobody answers"])
    def address(self, request: pytest.FixtureRequest) -> Iterator[str]:
        """An address without a broker: its port is closed, or accepts connections and never answers."""
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            if request.param == "nobody answers":
                silent.listen(16)
            yield f"127.0.0.1:{silent.getsockname()[1]}"

    @pytest.fixture
    def backend(self, kind: type[Backend], address: str, runtime: Runtime) -> Iterator[Backend]:
        """A backend whose address has no broker."""
        properties = {"bootstrap.servers": address, "default.api.timeout.ms": str(round(BOUND * 1000))}
        backend = kind.connect(properties, runtime)
        yield backend
        backend.close()

    @pytest.mark.parametrize("call", CALLS)
    def test_a_cluster_that_cannot_be_reached_is_named_within_the_deadline(
        self, backend: Backend, address: str, runtime: Runtime, call: str
    ) -> None:
        """Common rules of the protocols: every blocking call has a deadline, and the error names the address."""
        if call == "open_transactions" and backend.capabilities.lacking("describe_transactions"):
            pytest.skip(f"backend {backend.name!r} does not declare describe_transactions")
        began = runtime.now()

        with pytest.raises(ClusterUnavailableError, match=address):
            CALLS[call](backend)

        assert runtime.now() - began < BOUND + SLACK

    def test_an_initialisation_that_was_not_answered_may_be_tried_again(self, backend: Backend) -> None:
        """PRD-01, PRD-11: nothing has happened, so the same call is legal again."""
        producer = backend.producer("id")

        for _ in range(2):
            with pytest.raises(ClusterUnavailableError):
                producer.init_transactions(BOUND / 4)

    def test_closing_a_producer_unblocks_waiting_calls(self, backend: Backend, runtime: Runtime) -> None:
        """Common rules of the protocols: `close` may be called from any thread."""
        producer = backend.producer("id")
        ended: list[BaseException] = []
        begun = runtime.event()

        def wait() -> None:
            begun.set()
            producer.init_transactions(WAIT)

        waiting = runtime.spawn("waiting", partial(_caught, wait, ended))
        begun.wait()
        assert not waiting.join(0.05)

        producer.close()

        assert waiting.join(SLACK)
        # On a busy machine it may not have got inside before the producer was closed.
        assert [type(why) for why in ended if isinstance(why, FatalError | IllegalStateError)], ended


def _caught(call: Callable[[], object], into: list[BaseException]) -> None:
    try:
        call()
    except EosfwError as why:
        into.append(why)
