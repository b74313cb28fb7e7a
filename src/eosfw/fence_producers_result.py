"""Tell of each transactional id whether it was fenced (KIP-618's FenceProducersResult)."""

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
"""What became of one id: who holds it now (None: the client cannot know who), or why it could not be fenced."""
_ALL = ""
"""No transactional id is empty, so this waits for every one."""


@dataclass(frozen=True, slots=True)
class FenceProducersOptions:
    """How long fencing may take, in seconds; None means the admin client's `default.api.timeout.ms`.

    Java's client also stores this with the id, as the transaction timeout of its next owner; nothing here does.
    """

    timeout: float | None = None


USUAL_OPTIONS: Final = FenceProducersOptions()


class Future(Generic[_T]):
    """One answer that is on its way; any thread may wait for it."""

    def __init__(self, wait: Callable[[float | None], bool], value: Callable[[], _T]) -> None:
        self._wait = wait
        self._value = value

    def done(self) -> bool:
        """Tell whether the answer is there."""
        return self._wait(0.0)

    def result(self, timeout: float | None = None) -> _T:
        """Wait for the answer, raise if it is an error; TimeoutError after `timeout` seconds.

        Without a timeout this ends with the deadline of the call that made the future.
        """
        if not self._wait(timeout):
            raise TimeoutError(f"no answer within {timeout} s")
        return self._value()

    def error(self, timeout: float | None = None) -> EosfwError | None:
        """Wait for the answer; give the error it is, or None."""
        try:
            self.result(timeout)
        except EosfwError as why:
            return why
        return None


class FenceProducersResult:
    """What becomes of transactional ids that are being fenced: one future each, and one for all."""

    def __init__(self, transactional_ids: Collection[str], runtime: Runtime) -> None:
        """Nothing is known yet; no id, or an empty one, is a ValueError."""
        self.transactional_ids = tuple(dict.fromkeys(transactional_ids))
        if not self.transactional_ids or not all(self.transactional_ids):
            raise ValueError("nothing to fence: give at least one transactional id, none of them empty")
        self._runtime = runtime
        self._lock = runtime.lock()
        self._outcomes: dict[str, FencingOutcome] = {}
        self._waiting: dict[str, list[Event]] = {}

    # --- for those who ask

    def fenced(self) -> Mapping[str, Future[None]]:
        """A future for each id: no earlier holder can commit any more."""
        return {each: Future(self._waiter(each), partial(self._fenced, each)) for each in self._ids()}

    def all(self) -> Future[None]:
        """Done once every id is decided; raises the first failure, in the order of the ids."""
        return Future(self._waiter(_ALL), self._every)

    def producer_id(self, transactional_id: str) -> Future[int | None]:
        """The producer id behind a fenced id; None where the client is not told (`fence_by_init_producer_id`).

        An id that was not to be fenced is a ValueError.
        """
        return self._part(transactional_id, lambda holder: holder.producer_id)

    def epoch(self, transactional_id: str) -> Future[int | None]:
        """The epoch that shuts earlier holders out, known when the producer id is; else as `producer_id`."""
        return self._part(transactional_id, lambda holder: holder.epoch)

    def outcomes(self) -> Mapping[str, EosfwError | None]:
        """Wait for every id; give each one's error, None for those that are fenced."""
        self._waiter(_ALL)(None)
        return {
            each: outcome if isinstance(outcome := self._outcomes[each], EosfwError) else None for each in self._ids()
        }

    # --- for those who fence

    @classmethod
    def of(cls, transactional_ids: Collection[str], runtime: Runtime, fence: Callable[[Self], None]) -> Self:
        """Let `fence` decide each id on a thread of its own; what it leaves open, or raises, fails what is left."""
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
        """Decide one id, for good: a second decision is ignored."""
        with self._lock:
            if transactional_id in self._outcomes:
                return
            self._outcomes[transactional_id] = outcome
            events = self._waiting.pop(transactional_id, [])
            if len(self._outcomes) == len(self.transactional_ids):
                events += self._waiting.pop(_ALL, [])
        for event in events:
            event.set()

    def fail(self, why: EosfwError) -> None:
        """Decide every id that is left."""
        for each in self.undecided():
            self.settle(each, why)

    def undecided(self) -> tuple[str, ...]:
        """The ids that nobody has decided yet."""
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
