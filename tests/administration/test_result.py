"""Whoever asked for ids to be fenced learns of each, whatever becomes of those who fence."""

from __future__ import annotations

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ClusterUnavailableError, FatalError, TransactionalIdAuthorizationError
from eosfw.fence_producers_result import FenceProducersResult
from eosfw.ids import ProducerIdAndEpoch
from pytest_eos.virtual import VirtualRuntime

RUNTIME = ThreadRuntime()
WAIT = 30.0
HOLDER = ProducerIdAndEpoch(7, 3)
DENIED = TransactionalIdAuthorizationError("not yours")


def result(*names: str) -> FenceProducersResult:
    return FenceProducersResult(names, RUNTIME)


def test_each_future_is_done_with_its_own_id() -> None:
    """ADM-01: nobody waits for an id that is none of his business."""
    told = result("a", "b")

    told.settle("a", HOLDER)

    assert told.fenced()["a"].done()
    assert told.producer_id("a").result() == HOLDER.producer_id
    assert told.epoch("a").result() == HOLDER.epoch
    assert not told.fenced()["b"].done()
    assert not told.all().done()
    with pytest.raises(TimeoutError):
        told.producer_id("b").result(0.0)


def test_an_id_fails_alone_and_all_fails_with_it() -> None:
    """ADM-02."""
    told = result("a", "b")
    told.settle("b", DENIED)
    told.settle("a", HOLDER)

    assert told.outcomes() == {"a": None, "b": DENIED}
    assert told.fenced()["a"].error() is None
    for future in (told.fenced()["b"], told.producer_id("b"), told.epoch("b"), told.all()):
        assert future.error() is DENIED
        with pytest.raises(TransactionalIdAuthorizationError):
            future.result()


def test_a_decision_is_final() -> None:
    """A client that is closed while its answer comes in must not take it back."""
    told = result("a")
    told.settle("a", HOLDER)

    told.fail(ClusterUnavailableError("closed"))

    assert told.outcomes() == {"a": None}


def test_a_waiter_is_woken_from_another_thread() -> None:
    """ADM-01: futures are waited for."""
    told = result("a", "b")
    heard = RUNTIME.event()

    def wait() -> None:
        told.all().result(WAIT)
        heard.set()

    RUNTIME.spawn("waiting", wait)
    told.settle("a", None)
    assert not heard.is_set()
    told.settle("b", None)

    assert heard.wait(WAIT)


def test_unfinished_ids_of_a_fencing_fail_by_name() -> None:
    """An id without an outcome would hang whoever waits: left out, refused, or a fault of the code."""

    def forgets(told: FenceProducersResult) -> None:
        told.settle("a", HOLDER)

    def refuses(told: FenceProducersResult) -> None:
        raise DENIED

    def breaks(told: FenceProducersResult) -> None:
        raise RuntimeError("a fault")

    left = FenceProducersResult.of(["a", "b"], RUNTIME, forgets).outcomes()
    assert left["a"] is None
    assert isinstance(left["b"], FatalError)
    assert FenceProducersResult.of(["a"], RUNTIME, refuses).outcomes() == {"a": DENIED}
    (why,) = FenceProducersResult.of(["a"], RUNTIME, breaks).outcomes().values()
    assert isinstance(why, FatalError)
    assert "a fault" in str(why)


def test_waiting_goes_by_the_clock_that_was_given() -> None:
    """An hour of a virtual clock takes no time, since all waiting goes through the runtime."""
    with VirtualRuntime() as runtime:
        told = FenceProducersResult(["a"], runtime)

        def later() -> None:
            runtime.sleep(3600.0)
            told.settle("a", HOLDER)

        began = runtime.now()
        runtime.spawn("later", later)
        told.all().result()

        assert runtime.now() - began >= 3600.0


@pytest.mark.parametrize("names", [(), ("",), ("fine", "")])
def test_nothing_to_fence_is_a_mistake_of_the_caller(names: tuple[str, ...]) -> None:
    """ADM-01."""
    with pytest.raises(ValueError, match="transactional id"):
        result(*names)


def test_an_id_given_twice_is_fenced_once() -> None:
    """ADM-01."""
    assert result("a", "b", "a").transactional_ids == ("a", "b")
