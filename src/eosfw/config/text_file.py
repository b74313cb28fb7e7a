"""The text of a file that a user has named, which may be a device, a pipe or a mistake."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

_LARGEST: Final = 16 << 20


def read_text(path: Path) -> str:
    """The text, without a byte order mark; UnicodeDecodeError, or OSError also for more than 16 MiB."""
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content.decode("utf-8-sig")
