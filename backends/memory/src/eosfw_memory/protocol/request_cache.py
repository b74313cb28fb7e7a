"""Read the requests of one client, what it repeats only once.

Clients repeat themselves byte by byte: their name stands in every request, a producer begins and ends every transaction
with the same words, members of groups say that they are still there.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from eosfw_memory.broker import Context
from eosfw_memory.log.batch import Buffer
from eosfw_memory.protocol.codec import CORRELATION, Codec, decode

_LONGEST: Final = 192
"""Bytes of a request that is worth remembering as a whole; longer ones carry records, or much else that is new."""


class Asked(NamedTuple):
    """What a client wants: the same object as long as it wants the same, so nobody may change it."""

    codec: Codec
    body: Any
    context: Context


class _Last(NamedTuple):
    """The last request of a kind; all bytes from behind its number on."""

    asked: Asked
    header: Buffer
    header_bytes: int
    """Where that ends."""
    rest: Buffer | None
    """Header and body, unless they are long."""


class Reader:
    """Remembers the last request of each kind and version."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._last: dict[Buffer, _Last] = {}

    def read(self, frame: Buffer) -> Asked:
        """Read a frame; raise RequestError when it is no request this broker serves."""
        kind = bytes(frame[: CORRELATION.start])
        last = self._last.get(kind)
        if last is None:
            return self._met(kind, frame)
        asked, header, end, rest = last
        if rest == frame[CORRELATION.stop :]:
            return asked
        if header != frame[CORRELATION.stop : end]:
            return self._met(kind, frame)
        asked = Asked(asked.codec, asked.codec.body(frame, end), asked.context)
        if len(frame) <= _LONGEST:
            self._last[kind] = _Last(asked, header, end, frame[CORRELATION.stop :])
        return asked

    def _met(self, kind: bytes, frame: Buffer) -> Asked:
        incoming = decode(frame)
        asked = Asked(incoming.codec, incoming.body, Context(incoming.codec.version, incoming.client_id, self._host))
        end = incoming.header_bytes
        if incoming.body is not None:
            rest = frame[CORRELATION.stop :] if len(frame) <= _LONGEST else None
            self._last[kind] = _Last(asked, bytes(frame[CORRELATION.stop : end]), end, rest)
        return asked
