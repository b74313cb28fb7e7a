"""Time, waiting and threads in one place, so that the same code runs on a virtual clock (Kafka's `Time`).

All other modules ask a `Runtime` for the time, a pause, an event, a lock, a queue or a new thread. A lint rule keeps
`time.sleep`, `threading` and `queue` out of them.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, Generic, Protocol, TypeVar

__all__ = ["Event", "FairLock", "Queue", "Runtime", "Spawned", "ThreadRuntime"]

_SWITCH_INTERVAL: Final = sys.getswitchinterval()
_FEW_THREADS: Final = 100
"""Up to so many, Python's own interval stands; it grows with their number."""
_MOST_TIMES: Final = 40
"""How often it may grow by itself: the time that a thread which computes may keep all others waiting."""
_T = TypeVar("_T")


class Event(Protocol):
    """A flag that threads wait for (`threading.Event`)."""

    def set(self) -> None:
        """Set the flag; it is never cleared."""

    def is_set(self) -> bool:
        """Whether the flag is set."""

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the flag is set, or for `timeout` seconds; return whether it is set."""


class Queue(Protocol[_T]):
    """An unbounded first-in, first-out queue."""

    def put(self, item: _T) -> None:
        """Add an item; never blocks."""

    def get(self, timeout: float | None = None) -> _T:
        """Take the oldest item; raise TimeoutError after `timeout` seconds."""


class Spawned(Protocol):
    """A thread that was started."""

    name: str

    def join(self, timeout: float | None = None) -> bool:
        """Wait for its end; return whether it ended."""

    def is_alive(self) -> bool:
        """Whether it still runs."""


class Runtime(Protocol):
    """Time and concurrency, as arguments."""

    def now(self) -> float:
        """Seconds on a clock that never goes back: for deadlines and durations."""

    def wall(self) -> float:
        """Seconds since 1970: for timestamps that people or records see."""

    def sleep(self, seconds: float) -> None:
        """Pause the calling thread."""

    def event(self) -> Event:
        """Make a flag that is not set."""

    def lock(self) -> AbstractContextManager[object]:
        """Make a re-entrant lock. It must never be held across a blocking call; a `FairLock` may."""

    def queue(self) -> Queue[_T]:
        """Make an empty queue."""

    def spawn(self, name: str, target: Callable[[], None]) -> Spawned:
        """Run `target` in a new thread; it must not raise. The thread does not keep the process alive."""


class _ThreadQueue(Generic[_T]):
    def __init__(self) -> None:
        self._items: queue.SimpleQueue[_T] = queue.SimpleQueue()

    def put(self, item: _T) -> None:
        self._items.put(item)

    def get(self, timeout: float | None = None) -> _T:
        try:
            return self._items.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"nothing arrived within {timeout} s") from None


class _Thread:
    def __init__(self, name: str, target: Callable[[], None]) -> None:
        self.name = name
        self._thread = threading.Thread(target=target, name=name, daemon=True)
        self._thread.start()
        # A thread that waits for the interpreter's lock wakes at each interval to ask for it. Hundreds that do so every
        # 5 ms use up a processor, each then gets the lock later, more of them wait, and a worker misses its heartbeats.
        sys.setswitchinterval(_SWITCH_INTERVAL * min(max(1.0, threading.active_count() / _FEW_THREADS), _MOST_TIMES))

    def join(self, timeout: float | None = None) -> bool:
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def is_alive(self) -> bool:
        return self._thread.is_alive()


class ThreadRuntime:
    """The runtime of production: threads of the operating system, clocks of the machine."""

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def event(self) -> Event:
        return threading.Event()

    def lock(self) -> AbstractContextManager[object]:
        return threading.RLock()

    def queue(self) -> Queue[_T]:
        return _ThreadQueue[_T]()

    def spawn(self, name: str, target: Callable[[], None]) -> Spawned:
        return _Thread(name, target)


class FairLock:
    """A lock that may be held across blocking calls, which `Runtime.lock` may not; the longest waiting gets it next."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = runtime.lock()
        self._is_held = False
        self._waiters: deque[Event] = deque()

    def held(self, deadline: float) -> AbstractContextManager[bool]:
        """Hold the lock for a block; False if others hold it beyond the deadline."""
        return _HeldLock(self, deadline)

    def acquire(self, deadline: float) -> bool:
        """Take the lock, to be released; False if others hold it beyond the deadline."""
        with self._lock:
            if not self._is_held:
                self._is_held = True
                return True
            handed_over = self._runtime.event()
            self._waiters.append(handed_over)
        try:
            handed_over.wait(max(0.0, deadline - self._runtime.now()))
        except BaseException:
            # Interrupted after the lock was handed over: pass it on, or it would be held for ever.
            if not self._withdraw(handed_over):
                self.release()
            raise
        # The lock may have been handed over just as the time ended: then it is this thread's.
        return not self._withdraw(handed_over)

    def release(self) -> None:
        """Hand the lock over to the thread that waits longest, if one does."""
        with self._lock:
            # It stays held for the next waiter: no other thread can take it before that one wakes.
            next_holder = self._waiters.popleft() if self._waiters else None
            self._is_held = next_holder is not None
        if next_holder is not None:
            next_holder.set()

    def _withdraw(self, waiter: Event) -> bool:
        """Wait no longer; False if the lock was handed over already."""
        with self._lock:
            if waiter not in self._waiters:
                return False
            self._waiters.remove(waiter)
            return True


class _HeldLock:
    """One use of a lock; a class, since a generator costs more than taking the lock."""

    __slots__ = ("_deadline", "_got", "_lock")

    def __init__(self, lock: FairLock, deadline: float) -> None:
        self._lock = lock
        self._deadline = deadline

    def __enter__(self) -> bool:
        self._got = self._lock.acquire(self._deadline)
        return self._got

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._got:
            self._lock.release()
