"""The contract of what turns keys, values and headers into bytes."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, runtime_checkable


@runtime_checkable
class Converter(Protocol):
    """Turns keys, values or headers of records into the bytes to send (Kafka Connect's `Converter`).

    Each task has its own instance, made without arguments. A class may also be `Configurable`, `Aliased`, `Closeable`;
    if it defines the property `converter.type`, it is told whether it converts a `key`, a `value` or a `header`.
    """

    name: ClassVar[str]
    """What `key.converter`, `value.converter` or `header.converter` says; unique among installed converters."""

    def from_connect_data(self, topic: str, value: Any) -> bytes | None:
        """The bytes of what a task gave; None stays null. ValueError or TypeError, naming the field, for a value that
        cannot be converted. RetriableError asks for a repetition (`errors.retry.timeout`).
        """
