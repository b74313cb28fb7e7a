"""Write an answer to a socket from the places where its pieces lie.

To copy a megabyte of batches into one piece costs as much time as to send it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Final

from eosfw_memory.storage.records.batch import Buffer

_LARGE_BYTES: Final = 1 << 16
"""Smaller answers are copied, which costs less than a system call of their own."""
_MAX_PIECES: Final = 1_000
"""How many pieces every system takes in one call (IOV_MAX is 1,024 or more)."""
_HAS_WRITEV: Final = hasattr(os, "writev")


def send_joined(transport: asyncio.Transport, pieces: Sequence[Buffer]) -> None:
    """Write the pieces in their order through TLS, whose bytes are not those of the socket."""
    transport.write(b"".join(pieces))


def send(transport: asyncio.Transport, pieces: Sequence[Buffer]) -> None:
    """Write the pieces in their order; what the socket does not take at once goes through the transport."""
    size = sum(map(len, pieces))
    small = size < _LARGE_BYTES or len(pieces) > _MAX_PIECES or not _HAS_WRITEV
    # While bytes of an earlier answer wait in the transport, nothing may pass them. One that is closing drops all.
    if small or transport.is_closing() or transport.get_write_buffer_size():
        transport.write(b"".join(pieces))
        return
    try:
        sent = os.writev(transport.get_extra_info("socket").fileno(), pieces)
    except OSError:  # the socket is full or broken; the transport meets and handles the same
        sent = 0
    if sent < size:
        transport.write(b"".join(_unsent(pieces, sent)))


def _unsent(pieces: Sequence[Buffer], sent: int) -> Sequence[Buffer]:
    """The pieces that remain after the first `sent` bytes."""
    for at, piece in enumerate(pieces):
        if sent < len(piece):
            return (memoryview(piece)[sent:], *pieces[at + 1 :])
        sent -= len(piece)
    return ()
