"""The result of fencing transactional ids, with a future for each (KIP-618's `FenceProducersResult`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, Self, TypeAlias, TypeVar

from eosfw.concurrency import Event, Runtime
from eosfw.errors import EosfwError, FatalError
from eosfw.ids import ProducerIdAndEpoch

__all__ = ["USUAL_OPTIONS", "FenceProducersOptions", "FenceProducersResult", "FencingOutcome", "Future"]

_T = TypeVar("_T")
FencingOutcome: TypeAlias = ProducerIdAndEpoch | EosfwError | None
"""The outcome of one id: the newest holder (None if the client cannot know it), or why the id is not fenced."""
_ALL = ""
"""The key of those that wait for all ids; no transactional id is empty."""


@dataclass(frozen=True, slots=True)
class FenceProducersOptions:
    """How long fencing may take, in seconds; None means the admin client's `default.api.timeout.ms`.

    Java's client also stores this with the id, as the transaction timeout of its next owner; nothing here does.
    """

    timeout: float | None = None


USUAL_OPTIONS: Final = FenceProducersOptions()


class Future(Generic[_T]):
    """One outcome that may not be known yet; any thread may wait for it (Java's `KafkaFuture`)."""

    def __init__(self, wait: Callable[[float | None], bool], value: Callable[[], _T]) -> None:
        self._wait = wait
        self._value = value

    def done(self) -> bool:
        """Whether the outcome is known."""
        return self._wait(0.0)

    def result(self, timeout: float | None = None) -> _T:
        """Wait for the outcome; raise it if it is an error. TimeoutError after `timeout` seconds.

        Without a timeout it waits until the deadline of the call that made the future.
        """
        if not self._wait(timeout):
            raise TimeoutError(f"no answer within {timeout} s")
        return self._value()

    def error(self, timeout: float | None = None) -> EosfwError | None:
        """Wait for the outcome; return it if it is an error, else None."""
        try:
            self.result(timeout)
        except EosfwError as why:
            return why
        return None


class FenceProducersResult:
    """Futures for transactional ids that are being fenced: one for each, and one for all."""

    def __init__(self, transactional_ids: Collection[str], runtime: Runtime) -> None:
        """No outcome is known yet. ValueError for no id, or an empty one."""
        self.transactional_ids = tuple(dict.fromkeys(transactional_ids))
        if not self.transactional_ids or not all(self.transactional_ids):
            raise ValueError("nothing to fence: give at least one transactional id, none of them empty")
        self._runtime = runtime
        self._lock = runtime.lock()
        self._outcomes: dict[str, FencingOutcome] = {}
        self._waiting: dict[str, list[Event]] = {}

    # --- for the caller of fence_producers

    def fenced(self) -> Mapping[str, Future[None]]:
        """A future for each id; once it succeeds, no earlier holder of the id can commit."""
        return {each: Future(self._waiter(each), partial(self._fenced, each)) for each in self._ids()}

    def all(self) -> Future[None]:
        """A future that is done once all ids are decided; it raises the first error, in the order of the ids."""
        return Future(self._waiter(_ALL), self._every)

    def producer_id(self, transactional_id: str) -> Future[int | None]:
        """The producer id of a fenced id; None if the client cannot know it (capability `fence_by_init_producer_id`).

        ValueError for an id that was not to be fenced.
        """
        return self._part(transactional_id, lambda holder: holder.producer_id)

    def epoch(self, transactional_id: str) -> Future[int | None]:
        """The epoch that fences earlier holders; in all else like `producer_id`."""
        return self._part(transactional_id, lambda holder: holder.epoch)

    def outcomes(self) -> Mapping[str, EosfwError | None]:
        """Wait for every id; the error of each, None for a fenced one."""
        self._waiter(_ALL)(None)
        return {
            each: outcome if isinstance(outcome := self._outcomes[each], EosfwError) else None for each in self._ids()
        }

    # --- for the client that fences

    @classmethod
    def of(cls, transactional_ids: Collection[str], runtime: Runtime, fence: Callable[[Self], None]) -> Self:
        """Run `fence` in a new thread to decide each id; an id that it does not decide fails."""
        result = cls(transactional_ids, runtime)

        def run() -> None:
            why: object = "nobody decided it"
            try:
                fence(result)
            except EosfwError as error:
                result.fail(error)
            except Exception as error:  # noqa: BLE001 - an id without an outcome would hang whoever waits
                why = repr(error)
            for each in result.undecided():
                result.settle(each, FatalError(f"cannot fence {each!r}: {why}"))

        runtime.spawn("eosfw-fencing", run)
        return result

    def settle(self, transactional_id: str, outcome: FencingOutcome) -> None:
        """Set the outcome of one id; a second outcome is ignored."""
        with self._lock:
            if transactional_id in self._outcomes:
                return
            self._outcomes[transactional_id] = outcome
            events = self._waiting.pop(transactional_id, [])
            if len(self._outcomes) == len(self.transactional_ids):
                events += self._waiting.pop(_ALL, [])
        # Outside the lock: whoever wakes asks for outcomes, which takes it.
        for event in events:
            event.set()

    def fail(self, why: EosfwError) -> None:
        """Fail every id that has no outcome."""
        for each in self.undecided():
            self.settle(each, why)

    def undecided(self) -> tuple[str, ...]:
        """The ids without an outcome."""
        return tuple(each for each in self._ids() if each not in self._outcomes)

    # --- inside

    def _ids(self) -> tuple[str, ...]:
        return self.transactional_ids

    def _part(self, transactional_id: str, part: Callable[[ProducerIdAndEpoch], int]) -> Future[int | None]:
        if transactional_id not in self.transactional_ids:
            raise ValueError(f"{transactional_id!r} was not to be fenced, only {', '.join(map(repr, self._ids()))}")

        def value() -> int | None:
            self._fenced(transactional_id)
            outcome = self._outcomes[transactional_id]
            return part(outcome) if isinstance(outcome, ProducerIdAndEpoch) else None

        return Future(self._waiter(transactional_id), value)

    def _fenced(self, transactional_id: str) -> None:
        outcome = self._outcomes[transactional_id]
        if isinstance(outcome, EosfwError):
            raise outcome

    def _every(self) -> None:
        for each in self._ids():
            self._fenced(each)

    def _waiter(self, wanted: str) -> Callable[[float | None], bool]:
        def wait(timeout: float | None) -> bool:
            with self._lock:
                if self._is_decided(wanted):
                    return True
                event = self._runtime.event()
                self._waiting.setdefault(wanted, []).append(event)
            return event.wait(timeout)

        return wait

    def _is_decided(self, wanted: str) -> bool:
        return len(self._outcomes) == len(self.transactional_ids) if wanted == _ALL else wanted in self._outcomes
