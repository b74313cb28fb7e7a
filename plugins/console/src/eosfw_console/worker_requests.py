"""Requests to several workers of the group, without waiting for those that do not answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from eosfw.concurrency import Queue, Runtime
from eosfw_console.worker_client import WorkerClient

WAIT: Final = 1.0
"""Seconds that a page waits for all workers together; a healthy one answers within milliseconds."""
QUIET_FOR: Final = 10.0
"""Seconds for which a worker that did not answer is not asked again: a visitor waits for it once."""
_Answers: TypeAlias = Queue[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class WorkerAnswers:
    """The answers of workers."""

    texts: Mapping[str, str]
    """By the URLs of those that answered, in the order in which they were asked."""
    quiet: Sequence[str]
    """The URLs of those that did not answer."""


class WorkerRequests:
    """Asks workers at the same time, and remembers which of them are quiet; thread-safe."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._quiet: dict[str, float] = {}
        """By URL, when a worker may be asked again."""

    def ask(self, client: WorkerClient, urls: Sequence[str], target: str) -> WorkerAnswers:
        """Ask each worker for the same."""
        now = self._runtime.now()
        asked = [url for url in urls if self._quiet.get(url, now) <= now]
        answers: _Answers = self._runtime.queue()
        for url in asked:
            self._runtime.spawn(f"console-{url}", partial(self._ask, answers, client, url, target))
        texts = self._collected(answers, len(asked), now + WAIT)
        quiet = [url for url in urls if url not in texts]
        self._quiet |= {url: now + QUIET_FOR for url in quiet if url in asked}
        return WorkerAnswers({url: texts[url] for url in urls if url in texts}, quiet)

    def _ask(self, answers: _Answers, client: WorkerClient, url: str, target: str) -> None:
        text = client.text_of(url, target)
        answers.put((url, text))
        if text is not None:
            # It may have been too slow for this page, but it is there: the next one waits for it again.
            self._quiet.pop(url, None)

    def _collected(self, answers: _Answers, count: int, deadline: float) -> dict[str, str]:
        texts = {}
        for _ in range(count):
            try:
                url, text = answers.get(max(0.0, deadline - self._runtime.now()))
            except TimeoutError:
                break
            if text is not None:
                texts[url] = text
        return texts
