"""End a text file with a line that holds its checksum, so that no wrong byte in it is believed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from crc32c import crc32c

from eosfw.errors import DamagedDataError

_LINE: Final = re.compile(rb"crc32c=([0-9a-f]{8})\n\Z")


def with_checksum(content: bytes) -> bytes:
    """Whole lines, with that of their checksum behind them."""
    return b"%bcrc32c=%08x\n" % (content, crc32c(content))


def read_checked(path: Path) -> bytes:
    """The content of a file without the line; raises DamagedDataError where the checksum does not fit.

    A file without such a line is of an earlier version, or was written by hand. So is, to the eye, one whose line is
    damaged: who reads the content has to refuse whatever is too much.
    """
    content = path.read_bytes()
    line = _LINE.search(content)
    if line is None:
        return content
    if int(line[1], 16) != crc32c(content[: line.start()]):
        raise DamagedDataError(f"{path}: the checksum does not fit: restore the file from a copy")
    return content[: line.start()]
