"""Levels of the process's loggers, by the names of Kafka Connect (`Loggers`; KIP-495, KIP-976)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from eosfw.errors import NotFoundError
from eosfw.protocols.herder import LoggerLevel

logger = logging.getLogger(__name__)

_ROOT = "root"
_LEVELS = {
    "ALL": 1,
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": logging.CRITICAL + 10,
}
_PYTHON = {"WARNING": "WARN", "CRITICAL": "FATAL"}


class Loggers:
    """The loggers of this process; thread-safe, as `logging` is."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._modified: dict[str, int] = {}

    def all(self) -> dict[str, LoggerLevel]:
        """The loggers whose level is set, and the root logger."""
        named = {name: one for name, one in _known().items() if one.level != logging.NOTSET}
        return {name: self._level(name, one) for name, one in sorted({**named, _ROOT: logging.getLogger()}.items())}

    def level(self, name: str) -> LoggerLevel:
        """The level of a logger: its own, or that in force for it."""
        found = logging.getLogger() if name.lower() == _ROOT else _known().get(name)
        if found is None:
            raise NotFoundError(f"Logger {name} not found.")
        return self._level(name, found)

    def set_level(self, namespace: str, level: str) -> list[str]:
        """Set the level of a logger and of those below it; return their names."""
        number = level_number(level)
        known = _known()
        if namespace.lower() == _ROOT:
            changed = {**known, _ROOT: logging.getLogger()}
        else:
            below = {name: one for name, one in known.items() if name.startswith(f"{namespace}.")}
            changed = {namespace: logging.getLogger(namespace), **below}
        logger.info("setting the level of %s and the loggers below it to %s", namespace, level)
        for one in changed.values():
            if one.getEffectiveLevel() != number:
                one.setLevel(number)
                self._modified[one.name] = int(self._wall() * 1000)
        return sorted(changed)

    def _level(self, name: str, one: logging.Logger) -> LoggerLevel:
        return LoggerLevel(_level_name(one.getEffectiveLevel()), self._modified.get(one.name))


def level_number(level: str) -> int:
    """Python's number of a level, by its name there or in Kafka Connect; NotFoundError for another one."""
    name = level.upper()
    try:
        return _LEVELS[_PYTHON.get(name, name)]
    except KeyError:
        raise NotFoundError(f"invalid log level '{level}'.") from None


def _level_name(number: int) -> str:
    return next((name for name, least in reversed(_LEVELS.items()) if number >= least), "ALL")


def _known() -> dict[str, logging.Logger]:
    loggers = logging.getLogger().manager.loggerDict.items()
    return {name: one for name, one in list(loggers) if isinstance(one, logging.Logger)}
