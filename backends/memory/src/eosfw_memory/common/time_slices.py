"""Process a long request in slices, so that other clients are served between them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias

from eosfw_memory.common.delayed_operation import Answer, DelayedOperation, Wakeable

Slices: TypeAlias = Generator[None, None, Answer]
"""Does one slice of the work up to each `yield`; returns the answer."""
_NEVER_MS = 24 * 3_600_000


def in_slices(work: Slices) -> Answer | DelayedOperation:
    """The answer if the first slice gives it, else a delayed operation whose every attempt does another slice."""
    answer = _next_answer(work)
    if answer is not None:
        return answer
    slices = Wakeable()

    def attempt(expired: bool) -> Answer | None:  # noqa: FBT001
        answer = _next_answer(work)
        while answer is None and expired:
            answer = _next_answer(work)
        if answer is None:
            slices.changed()  # requests that arrived meanwhile come before the next one
        return answer

    return DelayedOperation(attempt, _NEVER_MS, [slices])


def _next_answer(work: Slices) -> Answer | None:
    try:
        next(work)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
    return None
