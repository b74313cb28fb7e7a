"""The import path for another process."""

from __future__ import annotations

import os
import sys


def absolute_sys_path() -> tuple[str, ...]:
    """`sys.path` with absolute entries, so that it means the same in another working directory."""
    return tuple(os.path.abspath(entry) for entry in sys.path)
