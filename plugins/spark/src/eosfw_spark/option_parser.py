"""The reading of Spark's options, whose names are compared without case (Spark's `CaseInsensitiveStringMap`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from eosfw.config import nearest
from eosfw.errors import ConfigError, Problem

T = TypeVar("T")
KAFKA: Final = "kafka."
API_TIMEOUT: Final = "kafka.default.api.timeout.ms"
SERVERS: Final = "kafka.bootstrap.servers"
# Whoever reads or fills a table of the catalog gave options, which Spark drops: "is missing" would mislead.
_NO_OPTIONS: Final = (
    f"no options are given, where {SERVERS} is needed at least; Spark passes on none of a table of the catalog: "
    'to read, write CREATE TEMPORARY VIEW ... USING eosfw OPTIONS (...); to write, use df.write.format("eosfw")'
)


class OptionParser:
    """Collects the problems of all options while it reads them."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in options.items()}
        self._problems: list[Problem] = []
        if not self._given:
            raise ConfigError(Problem("", _NO_OPTIONS))

    def _properties(self) -> dict[str, str]:
        """The client's properties; Spark has changed their names to small letters, as Kafka writes them."""
        return {name.removeprefix(KAFKA): value for name, value in self._given.items() if name.startswith(KAFKA)}

    def _text(self, name: str) -> str | None:
        return self._given.get(name.lower())

    def _wrong(self, name: str, what: str) -> None:
        self._problems.append(Problem("", f"option {name} {what}"))

    def _value(self, name: str, read: Callable[[str], T], default: T) -> T:
        """The value of an option, read by a function whose ValueError says what is wrong with the text."""
        text = self._text(name)
        if text is None:
            return default
        try:
            return read(text)
        except ValueError as why:
            self._wrong(name, str(why))
            return default

    def _boolean(self, name: str, *, default: bool = False) -> bool:
        return self._value(name, boolean, default)

    def _number(self, name: str, default: int) -> int:
        return self._value(name, positive, default)

    def _raise_problems(self) -> None:
        if self._problems:
            raise ConfigError(*self._problems)


def boolean(text: str) -> bool:
    """True or false, in any case."""
    if text.lower() not in ("true", "false"):
        raise ValueError(f"must be true or false, not {text}")
    return text.lower() == "true"


def positive(text: str) -> int:
    """A whole number above 0."""
    if not _is_whole(text) or int(text) < 1:
        raise ValueError(f"must be a whole number above 0, not {text}")
    return int(text)


def not_negative(text: str) -> int:
    """A whole number, 0 or above."""
    if not _is_whole(text):
        raise ValueError(f"must be a whole number, 0 or above, not {text}")
    return int(text)


def choice(among: Mapping[str, Any]) -> Callable[[str], Any]:
    """Read one of these words, in any case."""

    def read(text: str) -> Any:
        if text.lower() not in among:
            raise ValueError(f"must be {' or '.join(among)}, not {text}")
        return among[text.lower()]

    return read


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def unknown_option(name: str, known: Iterable[str]) -> str:
    """The message about an option that does not exist, with the most similar one."""
    spelled = {each.lower(): each for each in known}
    near = nearest(name.lower(), spelled)
    there = f"there are: {', '.join(spelled.values())}, and {KAFKA}PROPERTY"
    hint = f"did you mean {spelled[near]}?" if near else there
    return f"unknown option {name}; {hint}"
