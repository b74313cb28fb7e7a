"""Cut the bytes of a pipe into lines."""

from __future__ import annotations

from eosfw.errors import DamagedDataError


class LineBuffer:
    """Keeps the beginning of a line until its end comes; DamagedDataError for a line of more than `longest` bytes."""

    def __init__(self, longest: int, what: str) -> None:
        self._longest, self._what = longest, what
        self._rest: list[bytes] = []
        self._size = 0

    def lines(self, data: bytes) -> list[bytes]:
        """The lines that are whole with these bytes, without their ends."""
        *whole, rest = data.split(b"\n")
        if whole and self._rest:
            whole[0] = b"".join([*self._rest, whole[0]])
            self._rest, self._size = [], 0
        # In parts: to join them with each read would take time with the square of the line's length.
        if rest:
            self._rest.append(rest)
            self._size += len(rest)
        if self._size > self._longest or any(len(one) > self._longest for one in whole):
            raise DamagedDataError(
                f"{self._what} wrote a line of more than {self._longest} bytes to stdout: set line.max.bytes higher"
            )
        return whole

    def last(self) -> list[bytes]:
        """The last line, if it has no end."""
        rest, self._rest, self._size = b"".join(self._rest), [], 0
        return [rest] if rest else []


class LineBeginnings:
    """Keeps the beginning of each line, `most` bytes of it; the rest of a longer one is dropped as it comes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = b""

    def lines(self, data: bytes) -> list[bytes]:
        """The lines that are whole with these bytes, without their ends."""
        *whole, rest = (self._rest + data).split(b"\n")
        self._rest = rest[: self._most]
        return [one[: self._most] for one in whole]

    def last(self) -> list[bytes]:
        """The last line, if it has no end."""
        rest, self._rest = self._rest, b""
        return [rest] if rest else []
