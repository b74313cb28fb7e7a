"""Threads in which requests are answered, as a herder's calls block."""

from __future__ import annotations

from collections.abc import Callable

from eosfw.concurrency import Queue, Runtime, Spawned


class ThreadPool:
    """Starts a thread when all are busy, up to a number; they stay until the pool is closed."""

    def __init__(self, runtime: Runtime, name: str, most: int) -> None:
        self._runtime, self._name, self._most = runtime, name, most
        self._lock = runtime.lock()
        self._jobs: Queue[Callable[[], None] | None] = runtime.queue()
        self._unfinished = 0
        self._threads: list[Spawned] = []

    def submit(self, job: Callable[[], None]) -> None:
        """Run a job, which must not raise, in one of the threads."""
        with self._lock:
            self._unfinished += 1
            if self._unfinished > len(self._threads) and len(self._threads) < self._most:
                self._threads.append(self._runtime.spawn(f"{self._name}-{len(self._threads)}", self._work))
        self._jobs.put(job)

    def close(self, timeout: float) -> None:
        """End the threads when they are free."""
        for _ in self._threads:
            self._jobs.put(None)
        deadline = self._runtime.now() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - self._runtime.now()))

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            with self._lock:
                self._unfinished -= 1
