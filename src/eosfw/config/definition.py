"""Definitions of properties, and parsing by them (Kafka's `ConfigDef`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from eosfw.errors import ConfigError, Problem
from eosfw.text import readable


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()


@dataclass(frozen=True, slots=True)
class Key:
    """One property: its name, default (REQUIRED if it must be given) and purpose (`ConfigDef.ConfigKey`)."""

    name: str
    default: Any = REQUIRED
    doc: str = ""

    def parse(self, text: str) -> Any:
        """Parse a text; ValueError with what was expected."""
        raise ValueError(f"{type(self).__name__} does not say how to read {text!r}")

    @property
    def expects(self) -> str:
        """What a user may write."""
        return type(self).__name__.lower()


@dataclass(frozen=True, slots=True)
class String(Key):
    """A text; not empty unless `may_be_empty`."""

    may_be_empty: bool = False

    def parse(self, text: str) -> str:
        if not text.strip() and not self.may_be_empty:
            raise ValueError("String must be non-empty")
        return text


@dataclass(frozen=True, slots=True)
class Password(String):
    """A text that is never shown."""


@dataclass(frozen=True, slots=True)
class Boolean(Key):
    """`true` or `false`, in any case."""

    def parse(self, text: str) -> bool:
        try:
            return {"true": True, "false": False}[text.strip().lower()]
        except KeyError:
            raise ValueError("Expected value to be either true or false") from None


@dataclass(frozen=True, slots=True)
class _Integer(Key):
    at_least: int | None = None
    at_most: int | None = None

    def parse(self, text: str) -> int:
        try:
            number = int(text.strip())
        except ValueError:
            raise ValueError(f"Not a number of type {type(self).__name__.upper()}") from None
        low, high = self._bounds()
        if number < low:
            raise ValueError(f"Value must be at least {low}")
        if number > high:
            raise ValueError(f"Value must be no more than {high}")
        return number

    def _bounds(self) -> tuple[int, int]:
        bits = 64 if isinstance(self, Long) else 32
        low = -(2 ** (bits - 1)) if self.at_least is None else self.at_least
        high = 2 ** (bits - 1) - 1 if self.at_most is None else self.at_most
        return low, high


@dataclass(frozen=True, slots=True)
class Int(_Integer):
    """A whole number of 32 bits."""


@dataclass(frozen=True, slots=True)
class Long(_Integer):
    """A whole number of 64 bits."""


@dataclass(frozen=True, slots=True)
class Choice(Key):
    """One of a few words, in any case; the value is the word as it is defined."""

    among: tuple[str, ...] = ()

    def parse(self, text: str) -> str:
        for word in self.among:
            if word.lower() == text.strip().lower():
                return word
        near = nearest(text.strip().lower(), self.among)
        raise ValueError(
            f"String must be one of: {', '.join(self.among)}" + (f"; did you mean {near}?" if near else "")
        )


@dataclass(frozen=True, slots=True)
class List(Key):
    """Texts separated by commas."""

    def parse(self, text: str) -> tuple[str, ...]:
        return tuple(item.strip() for item in text.split(",") if item.strip())


class Config(Mapping[str, Any]):
    """Parsed properties: `config["batch.size"]` or `config.batch_size`. Frozen; `given` has the texts of the user."""

    __slots__ = ("_values", "given")

    def __init__(self, values: Mapping[str, Any], given: Mapping[str, str]) -> None:
        object.__setattr__(self, "_values", dict(values))
        object.__setattr__(self, "given", dict(given))

    given: Mapping[str, str]
    _values: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        for key in self._values:
            if key.replace(".", "_").replace("-", "_") == name:
                return self._values[key]
        raise AttributeError(f"no property {name!r}; there are: {', '.join(sorted(self._values))}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"properties are frozen: cannot set {name!r}")

    def __repr__(self) -> str:
        return f"Config({', '.join(sorted(self._values))})"


class ConfigDef:
    """A set of property definitions."""

    def __init__(self, *keys: Key) -> None:
        self.keys: Mapping[str, Key] = {key.name: key for key in keys}

    def __add__(self, other: ConfigDef) -> ConfigDef:
        return ConfigDef(*self.keys.values(), *other.keys.values())

    def parse(self, properties: Mapping[str, str], where: str = "") -> Config:
        """Parse properties by this definition; ConfigError lists every problem."""
        values, problems = self.read(properties, where)
        if problems:
            raise ConfigError(*problems)
        return Config(values, properties)

    def read(self, properties: Mapping[str, str], where: str = "") -> tuple[dict[str, Any], list[Problem]]:
        """Parse every property that can be parsed, and list the problems of the others."""
        values: dict[str, Any] = {}
        problems = [Problem(where, self.unknown(name)) for name in properties if name not in self.keys]
        for name, key in self.keys.items():
            if name not in properties:
                if key.default is REQUIRED:
                    problems.append(
                        Problem(where, f'Missing required configuration "{name}" which has no default value')
                    )
                else:
                    values[name] = key.default
                continue
            try:
                values[name] = key.parse(properties[name])
            except ValueError as why:
                shown = "[hidden]" if isinstance(key, Password) else readable(properties[name])
                problems.append(Problem(where, f"Invalid value {shown} for configuration {name}: {why}"))
        return values, problems

    def unknown(self, name: str) -> str:
        """The message about a property that is not defined."""
        near = nearest(name, self.keys)
        return f"unknown configuration {name!r}" + (f"; did you mean {near!r}?" if near else "")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to a misspelt one; None if none is similar."""
    import difflib  # only when something was misspelt: it costs a tenth of `import eosfw`

    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else None
