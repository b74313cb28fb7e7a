"""Ask a run to end, from outside its own thread of control."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError


@dataclass(slots=True)
class _Hook:
    action: Callable[[], None]


class RunControl:
    """Shared by a run and whoever watches it; thread-safe.

    `stop` asks for a clean end: the run sees it at its next check. `kill` makes blocked calls fail at once.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._lock = runtime.lock()
        self._stopping = runtime.event()
        self._reason: EosfwError | None = None
        self._on_stop: list[_Hook] = []
        self._on_kill: list[_Hook] = []

    @property
    def stopping(self) -> bool:
        """Whether a clean end was asked for."""
        return self._stopping.is_set()

    def stop(self, reason: EosfwError) -> None:
        """Ask for a clean end; the first reason counts."""
        with self._lock:
            self._reason = self._reason or reason
            hooks = [] if self.stopping else list(self._on_stop)
            self._stopping.set()
        _call(hooks)

    def kill(self, reason: EosfwError | None = None) -> None:
        """Close everything that may block, so that open transactions abort; a reason replaces the earlier one."""
        with self._lock:
            self._reason = reason or self._reason
            hooks = list(self._on_kill)
        _call(hooks)

    def check(self) -> None:
        """Raise the reason if the run was asked to end."""
        if self._reason is not None:
            raise self._reason

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than until the run is asked to end."""
        self._stopping.wait(seconds)

    def on_stop(self, action: Callable[[], None]) -> Callable[[], None]:
        """Have `action` done when a clean end is asked for; the answer forgets it again."""
        return self._remember(self._on_stop, action)

    def on_kill(self, action: Callable[[], None]) -> Callable[[], None]:
        """Have `action` done on a kill; the answer forgets it again."""
        return self._remember(self._on_kill, action)

    def _remember(self, hooks: list[_Hook], action: Callable[[], None]) -> Callable[[], None]:
        hook = _Hook(action)

        def forget() -> None:
            with self._lock:
                if any(one is hook for one in hooks):
                    hooks[:] = [one for one in hooks if one is not hook]

        with self._lock:
            hooks.append(hook)
        return forget


def _call(hooks: list[_Hook]) -> None:
    for hook in reversed(hooks):
        hook.action()
