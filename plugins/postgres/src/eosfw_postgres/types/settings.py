"""How values of PostgreSQL are shown, by Debezium's properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eosfw.config import Boolean, Choice, Int, String

__all__ = ["TYPE_PROPERTIES", "TypeSettings"]

TYPE_PROPERTIES = (
    Choice(
        "decimal.handling.mode",
        default="precise",
        among=("precise", "double", "string"),
        doc="numeric and money as Decimal, as FLOAT64, or as text",
    ),
    Choice(
        "time.precision.mode",
        default="adaptive",
        among=("adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"),
        doc="units of date, time and timestamp: by the column's precision, Kafka Connect's own types, texts, or fixed",
    ),
    Choice(
        "interval.handling.mode",
        default="numeric",
        among=("numeric", "string"),
        doc="interval in microseconds, a month being 30.4375 days, or as text of ISO 8601",
    ),
    Choice(
        "binary.handling.mode",
        default="bytes",
        among=("bytes", "base64", "base64-url-safe", "hex"),
        doc="bytea as bytes or as text",
    ),
    Choice("hstore.handling.mode", default="json", among=("json", "map"), doc="hstore as text of JSON, or as a MAP"),
    Boolean(
        "include.unknown.datatypes",
        default=False,
        doc="whether columns of types that have no schema are there, with the server's text as bytes, or left out",
    ),
    Int("money.fraction.digits", default=2, at_least=0, doc="digits of money behind the point"),
    String(
        "unavailable.value.placeholder",
        default="__debezium_unavailable_value",
        doc="what stands for a value that is stored out of line (TOAST) and did not change",
    ),
)


@dataclass(frozen=True, slots=True)
class TypeSettings:
    """The properties of `TYPE_PROPERTIES`."""

    decimal_mode: str = "precise"
    time_mode: str = "adaptive"
    interval_mode: str = "numeric"
    binary_mode: str = "bytes"
    hstore_mode: str = "json"
    unknown_types: bool = False
    money_digits: int = 2
    placeholder: str = "__debezium_unavailable_value"

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> TypeSettings:
        """The settings of a configuration that has these properties."""
        return cls(*(config[key.name] for key in TYPE_PROPERTIES))
