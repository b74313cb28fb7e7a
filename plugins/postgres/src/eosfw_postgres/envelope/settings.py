"""How changes are written as records, by Debezium's properties."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from eosfw.config import Boolean, Choice, String
from eosfw.errors import ConfigError, Problem
from eosfw_postgres.envelope.names import MODES
from eosfw_postgres.types import TypeSettings

__all__ = ["ENVELOPE_PROPERTIES", "EnvelopeSettings", "MessageKey", "message_keys"]

ENVELOPE_PROPERTIES = (
    Boolean("tombstones.on.delete", default=True, doc="a record without value behind one of a deleted row"),
    Boolean(
        "provide.transaction.metadata",
        default=False,
        doc="the transaction of each change, and its place there, in `transaction`",
    ),
    String(
        "message.key.columns",
        default="",
        doc="columns of keys other than primary keys: TABLE:COLUMN,...;..., TABLE a regular expression of SCHEMA.TABLE",
    ),
    Choice("schema.name.adjustment.mode", default="none", among=MODES, doc="what names of schemas become"),
    Choice("field.name.adjustment.mode", default="none", among=MODES, doc="what names of columns become"),
    Choice(
        "event.converting.failure.handling.mode",
        default="fail",
        among=("fail", "warn", "skip"),
        doc="a value that its schema cannot say fails the task, or is null, with a notice (warn) or without one (skip)",
    ),
)


@dataclass(frozen=True, slots=True)
class MessageKey:
    """The columns of the key of tables whose name matches as a whole."""

    tables: re.Pattern[str]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EnvelopeSettings:
    """The properties of `ENVELOPE_PROPERTIES`, and what names the source."""

    prefix: str
    database: str
    types: TypeSettings = field(default_factory=TypeSettings)
    tombstones: bool = True
    transactions: bool = False
    keys: tuple[MessageKey, ...] = ()
    schema_names: str = "none"
    field_names: str = "none"
    failures: str = "fail"
    version: str = field(default_factory=lambda: version("eosfw-postgres"))

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> EnvelopeSettings:
        """The settings of a configuration that has these properties; ConfigError for keys that are none."""
        return cls(
            config["topic.prefix"],
            config["database.dbname"],
            TypeSettings.of(config),
            config["tombstones.on.delete"],
            config["provide.transaction.metadata"],
            message_keys(config["message.key.columns"]),
            config["schema.name.adjustment.mode"],
            config["field.name.adjustment.mode"],
            config["event.converting.failure.handling.mode"],
        )

    def key_columns(self, table: str) -> Sequence[str] | None:
        """The columns of the key that a property names for a table; None if none does."""
        return next((one.columns for one in self.keys if one.tables.fullmatch(table)), None)


def message_keys(text: str) -> tuple[MessageKey, ...]:
    """The keys of `message.key.columns`; ConfigError for what is none."""
    return tuple(_message_key(one.strip()) for one in text.split(";") if one.strip())


def _message_key(text: str) -> MessageKey:
    table, colon, columns = text.rpartition(":")
    names = tuple(one.strip() for one in columns.split(","))
    tables = _pattern(table.strip())
    if not colon or not all(names) or tables is None:
        raise ConfigError(
            Problem("message.key.columns", f"{text!r} is not TABLE:COLUMN,..., TABLE a regular expression")
        )
    return MessageKey(tables, names)


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text)
    except re.error:
        return None
