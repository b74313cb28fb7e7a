"""Find ports for programs that take a while to start, or that come back to the port they had."""

from __future__ import annotations

import fcntl
import itertools
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

_GIVEN_BY_THE_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_240
"""Below lie the ports that other programs are known by."""
_BLOCK = 128
"""More than the tests of one process have in use at a time."""


def free_ports(count: int) -> tuple[int, ...]:
    """Ports of 127.0.0.1 that nobody has, none of those that the system gives to whoever asks for any.

    A port of the latter may go to another test's client, or broker, before the program listens there, or while it is
    away. Neither does another process of tests look among those of this one.
    """
    found: list[int] = []
    with ExitStack() as bound:
        for port in itertools.islice(_own_ports(), _BLOCK):
            one = bound.enter_context(socket.socket())
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue  # somebody has it
            found.append(port)
            if len(found) == count:
                return tuple(found)
    raise RuntimeError(f"of {_BLOCK} ports fewer than {count} are free")


def free_port() -> int:
    """One free port of 127.0.0.1."""
    return free_ports(1)[0]


@cache
def _own_ports() -> Iterator[int]:
    """Go round the ports of a block that no other process of tests has, for as long as this one lives."""
    first_given = int(_GIVEN_BY_THE_SYSTEM.read_text().split()[0]) if _GIVEN_BY_THE_SYSTEM.exists() else 32_768
    blocks = list(range(_LOWEST, first_given - _BLOCK, _BLOCK))
    random.SystemRandom().shuffle(blocks)
    for start in blocks:
        if _is_locked(start):
            return itertools.cycle(range(start, start + _BLOCK))
    raise RuntimeError(f"no block of {_BLOCK} ports between {_LOWEST} and {first_given} is left")


def _is_locked(start: int) -> bool:
    """Lock a block until this process ends, unless another one has it."""
    folder = Path(tempfile.gettempdir()) / f"eosfw-ports-of-tests-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    descriptor = os.open(folder / str(start), os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    return True
