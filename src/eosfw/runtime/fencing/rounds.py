"""Rounds of zombie fencing, shared by the tasks that ask for them (FEN-03)."""

from __future__ import annotations

from collections.abc import Callable

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError, RetriableError

ROUND_TIMEOUT = 90.0
"""Seconds that a request waits for the round of another task, as Connect's REST operations do (CFG-10)."""


class FencingRefusedError(RetriableError):
    """The round was refused: the generation was replaced, or the connector does not exist (Connect's 409 and 404).

    A task that still owns its share asks again.
    """


class _Round:
    """One round: the first task that asks runs it, the others wait for it."""

    def __init__(self, runtime: Runtime) -> None:
        self.ended = runtime.event()
        self.error: BaseException | None = None
        self.cancelled = False


class ZombieFencing:
    """The rounds under way, one per connector and generation; thread-safe.

    Kafka Connect's `DistributedHerder.ZombieFencing`.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = runtime.lock()
        """Guards `_rounds`; never held while a round runs, or `cancel` would wait for the cluster."""
        self._rounds: dict[tuple[str, int], _Round] = {}

    def run_or_join(self, connector: str, generation: int, run: Callable[[Callable[[], None]], None]) -> None:
        """Run a round, or wait for the one under way; `run` gets a function that raises once the round is cancelled."""
        key = (connector, generation)
        with self._lock:
            known = self._rounds.get(key)
            shared = known or self._rounds.setdefault(key, _Round(self._runtime))
        # Outside the lock: a round takes as long as the cluster takes.
        if known is not None:
            return self._wait(connector, shared)
        try:
            run(lambda: _check(connector, shared))
        except BaseException as error:
            shared.error = error
            raise
        finally:
            # Removed before the others wake: one that asks again gets a new round, not the result of this one.
            with self._lock:
                # Cancelled, it was removed before; a round that began since then is not this one's to remove.
                if self._rounds.get(key) is shared:
                    del self._rounds[key]
            shared.ended.set()

    def cancel(self, connector: str | None = None) -> None:
        """Cancel the rounds of a connector, or all: waiting tasks fail, no task count record is written (FEN-04)."""
        with self._lock:
            hit = [key for key in self._rounds if connector in (None, key[0])]
            shared = [self._rounds.pop(key) for key in hit]
        for one in shared:
            # Before the event, since who waits for it looks at this next.
            one.cancelled = True
            one.ended.set()

    def _wait(self, connector: str, shared: _Round) -> None:
        if not shared.ended.wait(ROUND_TIMEOUT):
            raise FencingRefusedError(
                f"the fencing round of connector {connector} took longer than {ROUND_TIMEOUT:g} s"
            )
        _check(connector, shared)
        if isinstance(shared.error, EosfwError):
            raise shared.error
        if shared.error is not None:
            raise EosfwError(f"the fencing round of connector {connector} failed: {shared.error}")


def _check(connector: str, shared: _Round) -> None:
    if shared.cancelled:
        raise FencingRefusedError(
            f"the fencing round of connector {connector} was cancelled: its configuration changed, or the worker stops"
        )
