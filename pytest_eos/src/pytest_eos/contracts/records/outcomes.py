"""What a part made of a value, or how it refused it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import pytest

from eosfw.closeables import Closeable
from eosfw.config.parts import CONVERTER_TYPE, Configurable, PartChoice
from eosfw.data import Schema
from eosfw.errors import ConfigError
from eosfw.records import SourceRecord
from pytest_eos.contracts.records.samples import leaves

_SHORTEST = 4
"""Characters of a text that is looked for in messages."""
_NO_SUCH = "eos.no.such.property"


class Refused(NamedTuple):
    """A refusal, with its message."""

    message: str


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """What a call returns, or Refused; the test fails if it raises what does not mean a refusal."""
    try:
        return call(*arguments)
    except (ValueError, TypeError) as why:
        return Refused(str(why))
    except Exception as why:  # noqa: BLE001 the message says what it is
        pytest.fail(f"it raised {type(why).__name__}: what cannot be taken is refused with ValueError or TypeError")


def refuse_shown(message: str, schema: Schema | None, value: Any) -> None:
    """Fail if a message shows a part of a value, or is more than a sentence."""
    shown = [one for one in leaves(schema, value) if len(one) >= _SHORTEST and one in message]
    assert not shown, f"the message of a refusal shows the value: {message}"
    assert message, "a refusal says nothing"
    assert "\n" not in message, f"the message of a refusal has several lines: {message!r}"


def refuse_shown_record(message: str, record: SourceRecord) -> None:
    """Fail if a message shows a part of the key or the value of a record, or is more than a sentence."""
    refuse_shown(message, record.key_schema, record.key)
    refuse_shown(message, record.value_schema, record.value)


def made(kind: type[Any], key: str, properties: Mapping[str, str]) -> Any:
    """A part that was made and configured as a worker does it."""
    part = kind()
    given = dict(properties)
    if isinstance(part, Configurable) and CONVERTER_TYPE in part.config.keys:
        given.setdefault(CONVERTER_TYPE, key.partition(".")[0])
    return PartChoice(key, kind.name, given).configured(part)


def refuse_wrong_properties(
    kind: type[Any], key: str, properties: Mapping[str, str], wrong: Iterable[Mapping[str, str]]
) -> None:
    """Fail unless a property that the part does not have, and each of the wrong ones, is refused with a sentence."""
    for one in ({_NO_SUCH: "x"}, *wrong):
        shown = ", ".join(f"{name}={text}" for name, text in one.items())
        message = _refusal(kind, key, {**properties, **one}, shown)
        assert "\n" not in message, f"the refusal of {shown} has several lines: {message}"


def _refusal(kind: type[Any], key: str, properties: Mapping[str, str], shown: str) -> str:
    try:
        made(kind, key, properties)
    except ConfigError as why:
        return str(why)
    except Exception as why:  # noqa: BLE001 the message says what it is
        pytest.fail(f"{shown} raised {type(why).__name__}: properties that do not fit are refused with ConfigError")
    pytest.fail(f"it takes {shown}, which must be refused")


def close_repeatedly(part: object) -> None:
    """Close a part twice, if it can be closed."""
    if isinstance(part, Closeable):
        part.close()
        part.close()
