"""Keep a deadline for a call that does not keep its own."""

from __future__ import annotations

from collections.abc import Callable

from eosfw.concurrency import Queue, Runtime
from eosfw.errors import EosfwError, FatalError


class DeadlineCall:
    """Runs a call on a thread of its own, so that its caller can stop waiting."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        self._runtime = runtime
        self._name = name

    def run(self, call: Callable[[], object], seconds_left: Callable[[], float | None]) -> bool:
        """Wait for the call and raise its error; False if it was given up.

        `seconds_left` gives how long to wait next, or None to give up. The thread of a call that was given up ends when
        the call returns; its outcome is dropped.
        """
        ended: Queue[EosfwError | None] = self._runtime.queue()
        self._runtime.spawn(self._name, lambda: ended.put(_outcome(call)))
        while (left := seconds_left()) is not None:
            try:
                error = ended.get(left)
            except TimeoutError:
                continue
            if error is not None:
                raise error
            return True
        return False


def _outcome(call: Callable[[], object]) -> EosfwError | None:
    try:
        call()
    except EosfwError as why:
        return why
    except Exception as why:  # noqa: BLE001 - without an outcome the caller would wait for ever
        return FatalError(f"the call failed: {why!r}")
    return None
