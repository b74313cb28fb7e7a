"""Several processes write in one transaction of a real Kafka, old and new (SHR-05, SHR-07)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial

import pytest
from tests.memory.conftest import Reached

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError, UnsupportedError
from eosfw.ids import TopicPartition
from eosfw.protocols import AcknowledgedWrite, AttachedProducer, Backend
from eosfw.records import ProducerBatch
from eosfw_memory.client.shared.late_write_check import VERIFICATION
from pytest_eos.contracts.backends.harness import UNCOMMITTED, WAIT, BackendHarness
from pytest_eos.contracts.backends.shared_transactions import Shared, SharedTransactionContract, next_of
from real_kafka import KAFKA_VERSION, Listener, RealKafka

from .held_requests import HeldRequests

pytestmark = [pytest.mark.kafka, pytest.mark.nightly]
VERIFYING, BEFORE_VERIFICATION = "3.7.2", "3.5.2"
"""Kafkas without version 2 of transactions, of which the first one verifies."""
KAFKAS: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "3.7, version 1": (VERIFYING, {}),
    "4.1, version 1": (KAFKA_VERSION, {"transaction.version": 1}),
    "4.1, version 2": (KAFKA_VERSION, {"transaction.version": 2}),
}


@contextmanager
def served(version: str, features: Mapping[str, int] | None = None) -> Iterator[tuple[str, HeldRequests]]:
    """The address of a node, and a network to it that can hold requests."""
    with closing(HeldRequests()) as network:
        node = RealKafka.start(
            version=version,
            features=features,
            listeners={"HELD": Listener("PLAINTEXT", network.address)},
        )
        network.broker = node.listeners["HELD"]
        try:
            yield node.bootstrap_servers, network
        finally:
            node.stop()


@pytest.fixture(scope="module")
def oldest() -> Iterator[str]:
    """The address of a Kafka with verification alone."""
    with served(VERIFYING) as (servers, _):
        yield servers


class TestVerifyingKafka(SharedTransactionContract):
    """Kafka before version 2 of transactions, where a late write is refused by the coordinator's verification alone."""

    @pytest.fixture
    def backend(self, oldest: str, runtime: Runtime) -> Backend:
        return Reached("kafka", oldest, "auto").backend(runtime)


@pytest.mark.parametrize(("version", "features"), KAFKAS.values(), ids=KAFKAS)
def test_a_request_that_the_network_holds_until_after_the_end_is_refused(
    runtime: Runtime, version: str, features: Mapping[str, int]
) -> None:
    """SHR-05, KIP-890: after a commit, after an abort, and while the next transaction is open there."""
    with served(version, features) as (servers, network):
        lab = BackendHarness(Reached("kafka", servers, "auto").backend(runtime), runtime)
        behind = Reached("kafka", network.address, "auto").backend(runtime)
        for end in ("commit", "abort", "next"):
            shared = Shared(lab, lab.topic(), lab.name(), writers=1).begin()
            late = behind.attach(shared.handles[0])
            late.send_batch(ProducerBatch(shared.topic, [b"early"], partition=0))
            late.flush(WAIT)
            network.hold()
            late.send_batch(ProducerBatch(shared.topic, [b"late"], partition=0))
            errors: list[EosfwError] = []
            waiting = runtime.spawn("late", partial(finish, late, errors))
            assert network.arrived.wait(WAIT)
            early = AcknowledgedWrite(0, shared.handles[0].producer, {TopicPartition(shared.topic, 0): 1})
            shared.driver.commit([early], WAIT) if end == "commit" else shared.driver.abort(WAIT)
            lab.values(shared.topic)
            following = next_of(shared) if end == "next" else None
            if following is not None:
                following.send(0, b"next")
                following.writing[0].flush(WAIT)
            before = lab.end(shared.topic, UNCOMMITTED)

            network.release()
            assert waiting.join(WAIT)

            assert len(errors) == 1
            assert lab.end(shared.topic, UNCOMMITTED) == before
            if following is not None:
                following.driver.commit(following.finish(), WAIT)
            assert lab.values(shared.topic) == {"commit": [b"early"], "abort": [], "next": [b"next"]}[end]
            late.close()
        behind.close()
        lab.close()


def finish(writer: AttachedProducer, errors: list[EosfwError]) -> None:
    """Have a writer wait for its acknowledgements; the error that it has instead."""
    try:
        writer.finish(WAIT)
    except EosfwError as refused:
        errors.append(refused)


def test_a_kafka_without_verification_is_refused_before_anybody_is_fenced(runtime: Runtime) -> None:
    """SHR-07: the sentence names the broker, the property, and what to do."""
    with served(BEFORE_VERIFICATION) as (servers, _):
        lab = BackendHarness(Reached("kafka", servers, "auto").backend(runtime), runtime)
        name = lab.name()
        holder = lab.open_transaction(lab.topic(), b"1", transactional_id=name)
        driver = lab.backend.shared_transaction(name)

        with pytest.raises(UnsupportedError, match=rf"broker 1 would append .* {VERIFICATION} is not true there"):
            driver.begin(WAIT)

        holder.commit_transaction(WAIT)
        driver.close()
        lab.close()
