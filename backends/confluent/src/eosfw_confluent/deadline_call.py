"""Keep deadlines over calls of librdkafka that do not keep theirs."""

from __future__ import annotations

from collections.abc import Callable

from eosfw.concurrency import Queue, Runtime
from eosfw.errors import EosfwError, FatalError


class DeadlineCall:
    """Makes a call on a thread of its own, so that the caller may stop waiting for it."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        self._runtime = runtime
        self._name = name

    def run(self, call: Callable[[], object], look: Callable[[], float | None]) -> bool:
        """Tell whether the call came to its end, raising its error; `look` gives the seconds left to wait, or None.

        A call that is given up goes on until the library lets go; what becomes of it nobody hears.
        """
        ended: Queue[EosfwError | None] = self._runtime.queue()
        self._runtime.spawn(self._name, lambda: ended.put(_outcome(call)))
        while (left := look()) is not None:
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
    except Exception as why:  # noqa: BLE001 - the caller waits for an outcome
        return FatalError(f"the call failed: {why!r}")
    return None
