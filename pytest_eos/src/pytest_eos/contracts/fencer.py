"""The contract of every fencer: it shuts out earlier producers with the same transactional ids."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import closing
from typing import Any

import pytest

from eosfw.concurrency import Runtime
from eosfw.errors import AbortableError, EosfwError, ProducerFencedError, TransactionalIdAuthorizationError
from eosfw.fence_producers_result import USUAL_OPTIONS, FenceProducersOptions, FenceProducersResult
from eosfw.protocols import Fencer, TransactionalProducer
from pytest_eos.contracts.backends.fixtures import BackendUnderTestFixtures
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, commit, record

_MANY = 12
"""Ids in one call; more than thread pools usually have threads."""


class FencerContract(BackendUnderTestFixtures):
    """Inherit it, define the fixture `backend`; define `fencer` too, if it is not the installed one of that name."""

    def test_a_fencer_names_itself(self, fencer: Fencer) -> None:
        """A fencer is chosen by its name."""
        assert isinstance(fencer, Fencer)
        assert fencer.name

    def test_an_earlier_holder_cannot_commit_any_more(self, lab: BackendHarness, fencer: Fencer) -> None:
        """ADM-01: what a zombie still sends reaches no reader."""
        topic = lab.topic()
        zombie = lab.producer()

        outcome = fencer.fence([str(zombie.transactional_id)], WAIT)

        assert outcome == {zombie.transactional_id: None}
        zombie.begin_transaction()
        zombie.send(record(topic, b"late"))
        with pytest.raises(ProducerFencedError):
            zombie.commit_transaction(WAIT)
        assert lab.values(topic) == []

    def test_fencing_aborts_the_open_transaction_of_the_earlier_producer(
        self, lab: BackendHarness, fencer: Fencer
    ) -> None:
        """ADM-01: readers need not wait for the transaction's timeout."""
        topic = lab.topic()
        zombie = lab.open_transaction(topic, b"half")

        fencer.fence([str(zombie.transactional_id)], WAIT)

        assert lab.values(topic) == []  # waits until the transaction is decided
        with pytest.raises(EosfwError):
            zombie.commit_transaction(WAIT)

    def test_an_unused_id_can_be_fenced(self, lab: BackendHarness, fencer: Fencer) -> None:
        """ADM-01: the leader fences all ids of a generation, whether they were used or not."""
        nobody = lab.name()

        assert fencer.fence([nobody], WAIT) == {nobody: None}

    def test_a_successor_may_take_the_id_over_afterwards(self, lab: BackendHarness, fencer: Fencer) -> None:
        """Fencing ends a producer, not its transactional id; nor does it revert a commit."""
        topic, name = lab.topic(), lab.name()
        commit(lab.producer(name), topic, b"kept")
        fencer.fence([name], WAIT)

        commit(lab.producer(name), topic, b"new")

        assert lab.values(topic) == [b"kept", b"new"]

    def test_an_id_can_be_fenced_repeatedly(self, lab: BackendHarness, fencer: Fencer) -> None:
        """ADM-01: each generation of tasks uses the ids of the one before."""
        topic, name = lab.topic(), lab.name()
        for number in range(3):
            holder = lab.producer(name)

            fencer.fence([name], WAIT)

            assert not _commits(holder, topic), f"an id was fenced {number} times, then its next holder was not"
        assert lab.values(topic) == []

    def test_many_ids_are_fenced_in_one_call(self, lab: BackendHarness, fencer: Fencer) -> None:
        """ADM-02: each id has an outcome of its own."""
        topic = lab.topic()
        holders = [lab.producer() for _ in range(_MANY)]
        names = [str(holder.transactional_id) for holder in holders]

        assert fencer.fence(names, WAIT) == dict.fromkeys(names)

        left = [number for number, holder in enumerate(holders, 1) if _commits(holder, topic)]
        assert left == [], f"of {_MANY} ids in one call these, by number, were not fenced, though it said so: {left}"

    def test_an_id_that_cannot_be_fenced_is_never_called_fenced(self, lab: BackendHarness, fencer: Fencer) -> None:
        """ADM-02: tasks start once every id is fenced, so an error that is hidden lets a zombie commit."""
        topic = lab.topic()
        holders = {str(each.transactional_id): each for each in (lab.producer() for _ in range(3))}
        refused = list(holders)[1]
        refusing: Any = _RefusingBackend(lab.backend, refused, lab.runtime)

        with closing(type(fencer).connect(refusing, {}, lab.runtime)) as mine:
            outcome = mine.fence(list(holders), WAIT)

        assert set(outcome) == set(holders), "each id has an outcome of its own, also if another one fails"
        left = [each for each, holder in holders.items() if outcome[each] is None and _commits(holder, topic)]
        assert left == [], (
            "the backend refused to fence an id, `fence` answered None for it, and its holder could still commit: "
            "`fence` must give the error of each id that is not fenced"
        )

    @pytest.mark.parametrize("ids", [[], [""]], ids=["none", "an empty one"])
    def test_fencing_an_empty_list_of_ids_is_refused(self, fencer: Fencer, ids: list[str]) -> None:
        """Fencer: an empty collection, or an empty id, is a ValueError."""
        with pytest.raises(ValueError, match=r"."):
            fencer.fence(ids, WAIT)


def _commits(holder: TransactionalProducer, topic: str) -> bool:
    """Whether a holder can still write: it was not fenced."""
    try:
        commit(holder, topic, b"late")
    except (ProducerFencedError, AbortableError):
        return False
    finally:
        holder.close()
    return True


class _Refusing:
    """Passes every call on, but for one transactional id, which it refuses."""

    def __init__(self, real: Any, refused: str, runtime: Runtime) -> None:
        self._real, self._refused, self._runtime = real, refused, runtime

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def _refusal(self) -> EosfwError:
        return TransactionalIdAuthorizationError(f"{self._refused!r} may not be used: this test refuses it")


class _RefusingBackend(_Refusing):
    """A backend on which one transactional id cannot be fenced, neither by an admin client nor by a producer."""

    def admin(self, properties: Mapping[str, str] | None = None) -> Any:
        return _RefusingAdmin(self._real.admin(properties), self._refused, self._runtime)

    def producer(self, transactional_id: str | None, **how: Any) -> Any:
        producer = self._real.producer(transactional_id, **how)
        if transactional_id != self._refused:
            return producer
        return _RefusingProducer(producer, self._refused, self._runtime)


class _RefusingAdmin(_Refusing):
    def fence_producers(
        self, transactional_ids: Collection[str], options: FenceProducersOptions = USUAL_OPTIONS
    ) -> FenceProducersResult:
        # On the caller's thread: virtual time knows no other.
        result = FenceProducersResult(transactional_ids, self._runtime)
        allowed = [each for each in result.transactional_ids if each != self._refused]
        outcomes = self._real.fence_producers(allowed, options).outcomes() if allowed else {}
        for each in result.transactional_ids:
            result.settle(each, self._refusal() if each == self._refused else outcomes[each])
        return result


class _RefusingProducer(_Refusing):
    def init_transactions(self, timeout: float) -> None:
        raise self._refusal()
