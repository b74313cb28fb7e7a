"""The reading of Spark's options, whose names are compared without case (Spark's `CaseInsensitiveStringMap`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from eosfw.config import nearest
from eosfw.errors import ConfigError, Problem

KAFKA: Final = "kafka."
API_TIMEOUT: Final = "kafka.default.api.timeout.ms"
SERVERS: Final = "kafka.bootstrap.servers"


class OptionParser:
    """Collects the problems of all options while it reads them."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in options.items()}
        self._problems: list[Problem] = []

    def _properties(self) -> dict[str, str]:
        """The client's properties; Spark has changed their names to small letters, as Kafka writes them."""
        return {name.removeprefix(KAFKA): value for name, value in self._given.items() if name.startswith(KAFKA)}

    def _text(self, name: str) -> str | None:
        return self._given.get(name.lower())

    def _wrong(self, name: str, what: str) -> None:
        self._problems.append(Problem("", f"option {name} {what}"))

    def _boolean(self, name: str, *, default: bool = False) -> bool:
        text = (self._text(name) or str(default)).lower()
        if text not in ("true", "false"):
            self._wrong(name, f"must be true or false, not {text}")
        return text == "true"

    def _number(self, name: str, default: int) -> int:
        text = self._text(name)
        if text is None:
            return default
        if not text.isdecimal() or int(text) < 1:
            self._wrong(name, f"must be a whole number above 0, not {text}")
            return default
        return int(text)

    def _raise_problems(self) -> None:
        if self._problems:
            raise ConfigError(*self._problems)


def unknown_option(name: str, known: Iterable[str]) -> str:
    """The message about an option that does not exist, with the most similar one."""
    spelled = {each.lower(): each for each in known}
    near = nearest(name.lower(), spelled)
    hint = f"did you mean {spelled[near]}?" if near else f"there are: {', '.join(spelled.values())}"
    return f"unknown option {name}; {hint}"
