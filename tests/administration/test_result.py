"""`FenceProducersResult`: every id gets a result, even if the fencing thread fails."""

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
    """ADM-01: a caller waits only for the ids it asks about."""
    fencing = result("a", "b")

    fencing.settle("a", HOLDER)

    assert fencing.fenced()["a"].done()
    assert fencing.producer_id("a").result() == HOLDER.producer_id
    assert fencing.epoch("a").result() == HOLDER.epoch
    assert not fencing.fenced()["b"].done()
    assert not fencing.all().done()
    with pytest.raises(TimeoutError):
        fencing.producer_id("b").result(0.0)


def test_an_id_fails_alone_and_all_fails_with_it() -> None:
    """ADM-02."""
    fencing = result("a", "b")
    fencing.settle("b", DENIED)
    fencing.settle("a", HOLDER)

    assert fencing.outcomes() == {"a": None, "b": DENIED}
    assert fencing.fenced()["a"].error() is None
    for future in (fencing.fenced()["b"], fencing.producer_id("b"), fencing.epoch("b"), fencing.all()):
        assert future.error() is DENIED
        with pytest.raises(TransactionalIdAuthorizationError):
            future.result()


def test_a_decision_is_final() -> None:
    """A client that is closed while its answer comes in must not take it back."""
    fencing = result("a")
    fencing.settle("a", HOLDER)

    fencing.fail(ClusterUnavailableError("closed"))

    assert fencing.outcomes() == {"a": None}


def test_a_waiter_is_woken_from_another_thread() -> None:
    """ADM-01: futures are waited for."""
    fencing = result("a", "b")
    heard = RUNTIME.event()

    def wait() -> None:
        fencing.all().result(WAIT)
        heard.set()

    RUNTIME.spawn("waiting", wait)
    fencing.settle("a", None)
    assert not heard.is_set()
    fencing.settle("b", None)

    assert heard.wait(WAIT)


def test_unfinished_ids_of_a_fencing_fail_by_name() -> None:
    """An id without an outcome would block its waiters for ever, so every remaining id fails."""

    def forgets(fencing: FenceProducersResult) -> None:
        fencing.settle("a", HOLDER)

    def refuses(fencing: FenceProducersResult) -> None:
        raise DENIED

    def breaks(fencing: FenceProducersResult) -> None:
        raise RuntimeError("a fault")

    left = FenceProducersResult.of(["a", "b"], RUNTIME, forgets).outcomes()
    assert left["a"] is None
    assert isinstance(left["b"], FatalError)
    assert FenceProducersResult.of(["a"], RUNTIME, refuses).outcomes() == {"a": DENIED}
    (why,) = FenceProducersResult.of(["a"], RUNTIME, breaks).outcomes().values()
    assert isinstance(why, FatalError)
    assert "a fault" in str(why)


def test_a_wait_uses_the_given_clock() -> None:
    """An hour of a virtual clock takes no time, since all waiting goes through the runtime."""
    with VirtualRuntime() as runtime:
        fencing = FenceProducersResult(["a"], runtime)

        def later() -> None:
            runtime.sleep(3600.0)
            fencing.settle("a", HOLDER)

        began = runtime.now()
        runtime.spawn("later", later)
        fencing.all().result()

        assert runtime.now() - began >= 3600.0


def test_each_named_id_is_fenced_once() -> None:
    """ADM-01: an empty list, or an empty id in it, is refused."""
    assert result("a", "b", "a").transactional_ids == ("a", "b")
    for names in ((), ("",), ("fine", "")):
        with pytest.raises(ValueError, match="transactional id"):
            result(*names)
