"""Requests to end a run, from other threads than its own."""

from __future__ import annotations

from collections.abc import Callable

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError

_Actions = dict[object, Callable[[], None]]


class RunControl:
    """A run checks it, other threads stop the run by it; thread-safe.

    `stop` asks for a clean end: the run sees it at its next check. `kill` makes blocked calls fail at once.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._lock = runtime.lock()
        self._stopping = runtime.event()
        self._reason: EosfwError | None = None
        self._on_stop: _Actions = {}
        self._on_kill: _Actions = {}

    @property
    def stopping(self) -> bool:
        """Whether a clean end was asked for."""
        return self._stopping.is_set()

    def stop(self, reason: EosfwError) -> None:
        """Ask for a clean end; of several reasons, `check` raises the first."""
        with self._lock:
            self._reason = self._reason or reason
            actions = [] if self.stopping else list(self._on_stop.values())
            self._stopping.set()
        # Outside the lock: an action may unregister another one.
        for action in reversed(actions):
            action()

    def kill(self, reason: EosfwError | None = None) -> None:
        """Close everything that may block, so that open transactions abort; `reason` replaces an earlier one."""
        with self._lock:
            self._reason = reason or self._reason
            actions = list(self._on_kill.values())
        # Outside the lock: an action may unregister another one.
        for action in reversed(actions):
            action()

    def check(self) -> None:
        """Raise the reason if the run was asked to end."""
        if self._reason is not None:
            raise self._reason

    def pause(self, seconds: float) -> None:
        """Wait, at most until the run is asked to end."""
        self._stopping.wait(seconds)

    def on_stop(self, action: Callable[[], None]) -> Callable[[], None]:
        """Call `action` when a clean end is asked for; the function that is returned takes it back."""
        return self._register(self._on_stop, action)

    def on_kill(self, action: Callable[[], None]) -> Callable[[], None]:
        """Call `action` on a kill; the function that is returned takes it back."""
        return self._register(self._on_kill, action)

    def _register(self, actions: _Actions, action: Callable[[], None]) -> Callable[[], None]:
        key = object()

        def unregister() -> None:
            with self._lock:
                actions.pop(key, None)

        with self._lock:
            actions[key] = action
        return unregister
