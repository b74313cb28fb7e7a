"""Find ports for programs that take a while to start, or that come back to the port they had."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from pathlib import Path

_GIVEN_BY_THE_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_240
"""Below lie the ports that other programs are known by."""


def free_ports(count: int) -> tuple[int, ...]:
    """Ports of 127.0.0.1 that nobody has, none of those that the system gives to whoever asks for any.

    A port of the latter may go to another test's client, or broker, before the program listens there.
    """
    first_given = int(_GIVEN_BY_THE_SYSTEM.read_text().split()[0]) if _GIVEN_BY_THE_SYSTEM.exists() else 32_768
    if first_given - _LOWEST < count:
        raise RuntimeError(f"{_GIVEN_BY_THE_SYSTEM}: the system gives away all ports from {first_given} on")
    found: list[int] = []
    with ExitStack() as bound:
        while len(found) < count:
            one = bound.enter_context(socket.socket())
            port = random.SystemRandom().randrange(_LOWEST, first_given)
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue  # somebody has it
            found.append(port)
    return tuple(found)


def free_port() -> int:
    """One free port of 127.0.0.1."""
    return free_ports(1)[0]
