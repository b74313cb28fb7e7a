"""Definitions of properties, and parsing by them (Kafka's `ConfigDef`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Final, Literal, get_args

from eosfw.errors import ConfigError, Problem
from eosfw.text import readable, shown


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()
Importance = Literal["HIGH", "MEDIUM", "LOW"]
Width = Literal["NONE", "SHORT", "MEDIUM", "LONG"]
Values = Mapping[str, Any]
"""The parsed values of a definition; one that cannot be parsed is None."""
_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
"""What Java's `String.trim` removes: it knows no blanks beyond ASCII."""


def trimmed(text: str) -> str:
    """A text without blanks at its ends (Java's `String.trim`)."""
    return text.strip(_BLANKS)


@dataclass(frozen=True, slots=True)
class Key:
    """One property: its name, default (REQUIRED if it must be given) and purpose (`ConfigDef.ConfigKey`).

    What is behind these is for user interfaces, which ask `PUT /connector-plugins/NAME/config/validate`, except
    `validator`: it is asked wherever a text is parsed.
    """

    name: str
    default: Any = REQUIRED
    doc: str = ""
    _: KW_ONLY
    validator: Callable[[Any], object] | None = None
    """Called with the parsed value; ValueError with what was expected (`ConfigDef.Validator`)."""
    importance: Importance | None = None
    """None: HIGH for a property that must be given, else MEDIUM."""
    group: str | None = None
    order: int | None = None
    """The place in the group (`orderInGroup`); None: behind the property of the group that is defined before."""
    width: Width = "NONE"
    display_name: str | None = None
    """None: the name."""
    dependents: tuple[str, ...] = ()
    """The properties whose `recommended` or `visible` look at this one."""
    recommended: Callable[[Values], Iterable[Any]] | None = None
    """Called with the parsed values of all properties, once in a request; what a user may choose from
    (`ConfigDef.Recommender.validValues`). An exception is shown as an error of this property."""
    visible: Callable[[Values], bool] | None = None
    """Whether these values leave the property a meaning (`ConfigDef.Recommender.visible`); None: always."""

    trims: ClassVar[bool] = True
    """Whether `parse` is given the text without blanks at its ends, as Kafka parses all of its types."""

    def __post_init__(self) -> None:
        if self.importance not in (None, *get_args(Importance)) or self.width not in get_args(Width):
            raise ValueError(
                f"property {self.name!r}: importance is one of {', '.join(get_args(Importance))}, "
                f"width one of {', '.join(get_args(Width))}"
            )

    def parse(self, text: str) -> Any:
        """Parse a text; ValueError with what was expected."""
        raise ValueError(f"{type(self).__name__} does not say how to read {text!r}")

    def parse_valid(self, text: str) -> Any:
        """Parse a text and have `validator` look at the value; ValueError with what was expected."""
        value = self.parse(trimmed(text) if self.trims else text)
        if self.validator is not None:
            self.validator(value)
        return value

    def shown(self, value: Any) -> str:
        """A value as a user writes it."""
        if isinstance(value, bool):
            return str(value).lower()
        return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)

    @property
    def expects(self) -> str:
        """What a user may write."""
        return type(self).__name__.lower()


@dataclass(frozen=True, slots=True)
class String(Key):
    """A text; not empty unless `may_be_empty`."""

    may_be_empty: bool = False

    def parse(self, text: str) -> str:
        if not text and not self.may_be_empty:
            raise ValueError("String must be non-empty")
        return text


# Kinds without fields of their own are no dataclasses again: each takes a millisecond of every `import eosfw`.
class Password(String):
    """A text that is never shown."""

    __slots__ = ()


class Boolean(Key):
    """`true` or `false`, in any case."""

    __slots__ = ()

    def parse(self, text: str) -> bool:
        try:
            return {"true": True, "false": False}[text.lower()]
        except KeyError:
            raise ValueError("Expected value to be either true or false") from None


@dataclass(frozen=True, slots=True)
class _Integer(Key):
    at_least: int | None = None
    at_most: int | None = None

    def parse(self, text: str) -> int:
        try:
            number = int(_without_underscore(text))
        except ValueError:
            kind = next((kind for kind in (Long, Short) if isinstance(self, kind)), Int)
            raise ValueError(f"Not a number of type {kind.__name__.upper()}") from None
        low, high = self._bounds()
        _refuse_outside(number, low, high)
        return number

    def _bounds(self) -> tuple[int, int]:
        bits = next((bits for kind, bits in ((Long, 64), (Short, 16)) if isinstance(self, kind)), 32)
        low = -(2 ** (bits - 1)) if self.at_least is None else self.at_least
        high = 2 ** (bits - 1) - 1 if self.at_most is None else self.at_most
        return low, high


class Int(_Integer):
    """A whole number of 32 bits."""

    __slots__ = ()


class Short(_Integer):
    """A whole number of 16 bits."""

    __slots__ = ()


class Long(_Integer):
    """A whole number of 64 bits."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Double(Key):
    """A number with a fraction; not infinite."""

    at_least: float | None = None
    at_most: float | None = None

    def parse(self, text: str) -> float:
        try:
            number = float(_without_underscore(text))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ValueError("Not a number of type DOUBLE")
        _refuse_outside(number, self.at_least, self.at_most)
        return number


def _without_underscore(text: str) -> str:
    """The text of a number; ValueError for digits in groups, which Python reads and Java does not."""
    if "_" in text:
        raise ValueError
    return text


def _refuse_outside(number: float, low: float | None, high: float | None) -> None:
    if low is not None and number < low:
        raise ValueError(f"Value must be at least {low}")
    if high is not None and number > high:
        raise ValueError(f"Value must be no more than {high}")


@dataclass(frozen=True, slots=True)
class Choice(Key):
    """One of a few words, in any case; the value is the word as it is defined."""

    among: tuple[str, ...] = ()

    def parse(self, text: str) -> str:
        for word in self.among:
            if word.lower() == text.lower():
                return word
        near = nearest(text.lower(), self.among)
        raise ValueError(
            f"String must be one of: {', '.join(self.among)}" + (f"; did you mean {near}?" if near else "")
        )


@dataclass(frozen=True, slots=True)
class Class(Key):
    """One of a few classes, as `Class` or `module:Class`; the value is the class.

    No other class can be named: properties may come from anybody who reaches the REST interface, and an import runs
    code.
    """

    among: tuple[type[Any], ...] = ()

    def parse(self, text: str) -> type[Any]:
        for cls in self.among:
            if text in (cls.__name__, self.shown(cls)):
                return cls
        raise ValueError(f"Class must be one of: {', '.join(map(self.shown, self.among))}")

    def shown(self, value: Any) -> str:
        return f"{value.__module__}:{value.__qualname__}"


class List(Key):
    """Texts separated by commas."""

    __slots__ = ()

    def parse(self, text: str) -> tuple[str, ...]:
        return tuple(item for item in map(trimmed, text.split(",")) if item)


class Config(Mapping[str, Any]):
    """Parsed properties: `config["batch.size"]` or `config.batch_size`. Frozen; `given` has the texts of the user."""

    __slots__ = ("_values", "given")

    def __init__(self, values: Mapping[str, Any], given: Mapping[str, str]) -> None:
        object.__setattr__(self, "_values", dict(values))
        object.__setattr__(self, "given", dict(given))

    given: Mapping[str, str]
    _values: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        __tracebackhide__ = True  # the line that asks for an unknown property is the one to mend
        try:
            return self._values[key]
        except KeyError:
            raise KeyError(self._unknown(key)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        __tracebackhide__ = True
        for key in self._values:
            if key.replace(".", "_").replace("-", "_") == name:
                return self._values[key]
        raise AttributeError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        return f"no property {name!r}; there are: {', '.join(sorted(self._values))}"

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

    def groups(self) -> list[str]:
        """The groups of the properties, in the order in which they are defined."""
        return list(dict.fromkeys(key.group for key in self.keys.values() if key.group is not None))

    def orders(self) -> dict[str, int]:
        """The place of each property within its group; -1 without one."""
        last: dict[str, int] = {}
        orders: dict[str, int] = {}
        for name, key in self.keys.items():
            orders[name] = -1
            if key.group is not None:
                orders[name] = last[key.group] = last.get(key.group, 0) + 1 if key.order is None else key.order
        return orders

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
                values[name] = key.parse_valid(properties[name])
            except ValueError as why:
                given = "[hidden]" if isinstance(key, Password) else readable(properties[name])
                problems.append(Problem(where, f"Invalid value {given} for configuration {name}: {why}"))
        return values, problems

    def unknown(self, name: str) -> str:
        """The message about a property that is not defined."""
        near = nearest(name, self.keys)
        return f"unknown configuration {shown(name)}" + (f"; did you mean {near!r}?" if near else "")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to a misspelt one, or that it is the end of; None if none is similar."""
    import difflib  # only when something was misspelt: it costs a tenth of `import eosfw`

    names = list(known)
    prefixed = [one for one in names if one.endswith(f".{name}")]
    found = prefixed or difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return found[0] if found else None
