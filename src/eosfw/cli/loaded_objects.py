"""What a process that works for long does with all that it has loaded."""

from __future__ import annotations

import gc


def keep_loaded_objects() -> None:
    """Leave what is loaded by now out of all collections of garbage.

    Records that wait for their commit are many new objects, so Python looks through all old ones again and again:
    modules and classes, none of which goes before the process does. That took an eighth of the time of a task whose
    polls are single records.
    """
    # What is garbage by now would be kept for ever: in a program that calls a command itself also clients of its own.
    gc.collect()
    gc.freeze()
