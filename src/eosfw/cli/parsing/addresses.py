"""Addresses on the command line."""

from __future__ import annotations

from typing import Final

from eosfw.errors import ConfigError, Problem

_MOST_DIGITS: Final = 5


def parse_listener(option: str, text: str) -> str:
    """The text itself if it is written HOST:PORT; else ConfigError, which names the option."""
    host, _, port = text.rpartition(":")
    is_number = port.isascii() and port.isdecimal() and len(port) <= _MOST_DIGITS
    if not (host and host.isprintable() and is_number) or int(port) > 65535:
        raise ConfigError(Problem(option, f"{text!r} is not written HOST:PORT with a port between 0 and 65535"))
    return text


def parse_listeners(option: str, text: str, name: str) -> str:
    """Listeners as Kafka writes them, of `[NAME://]HOST:PORT,...`; ConfigError, which names the option.

    `name` is that of an address without one.
    """
    found = []
    for part in text.split(","):
        scheme, separator, address = part.strip().rpartition("://")
        found.append(f"{scheme if separator else name}://{parse_listener(option, address)}")
    return ",".join(found)
