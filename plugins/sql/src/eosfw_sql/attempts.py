"""How often a statement is repeated while the database does not answer."""

from __future__ import annotations

from eosfw.errors import RetriableError, TaskFailedError


class Attempts:
    """Counts failures in a row; -1 allows any number of them."""

    def __init__(self, most: int) -> None:
        self._most, self._failures = most, 0

    def succeeded(self) -> None:
        """Begin to count anew."""
        self._failures = 0

    def failed(self, error: RetriableError) -> None:
        """Count a failure; TaskFailedError, with its text, if it was one too many."""
        self._failures += 1
        if 0 <= self._most < self._failures:
            raise TaskFailedError(
                f"{error}; it was asked {self._failures} times: restart the task once it answers, or raise "
                f"query.retry.attempts"
            ) from None
