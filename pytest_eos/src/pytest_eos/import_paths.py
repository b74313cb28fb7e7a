"""Say where another process finds the modules of this one."""

from __future__ import annotations

import os
import sys


def absolute_sys_path() -> tuple[str, ...]:
    """`sys.path` without anything that depends on the folder a process is in."""
    return tuple(os.path.abspath(entry) for entry in sys.path)
