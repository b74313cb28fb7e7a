"""Send an answer from where its bytes lie: putting a megabyte of batches together costs as much as sending it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Final

from eosfw_memory.records.batch import Buffer

_LARGE: Final = 1 << 16
"""Bytes from which on a copy costs more than the look for a way around it."""
_MOST: Final = 1_000
"""Pieces that every system takes in one call."""
_GATHERS: Final = hasattr(os, "writev")


def send(transport: asyncio.Transport, pieces: Sequence[Buffer]) -> None:
    """Write the pieces one behind the other; what the socket does not take at once goes through the transport."""
    size = sum(map(len, pieces))
    small = size < _LARGE or len(pieces) > _MOST or not _GATHERS
    if small or transport.is_closing() or transport.get_write_buffer_size():
        transport.write(b"".join(pieces))  # one that closes drops it
        return
    try:
        sent = os.writev(transport.get_extra_info("socket").fileno(), pieces)
    except OSError:  # full, or broken: the transport knows what to do then
        sent = 0
    if sent < size:
        transport.write(b"".join(_behind(pieces, sent)))


def _behind(pieces: Sequence[Buffer], sent: int) -> Sequence[Buffer]:
    """What is left when so many bytes are gone."""
    for at, piece in enumerate(pieces):
        if sent < len(piece):
            return (memoryview(piece)[sent:], *pieces[at + 1 :])
        sent -= len(piece)
    return ()
