"""A reader that masks fields, so that steps and checks work on what they may not know.

    "isolation.reader" = "masked"
    "isolation.reader.fields" = "email,iban"

The fields of a JSON object are replaced by `***`; any other value has no fields and stays as it is. Keys and headers
stay, too. Only committed records are shown.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Self

from eosfw import Config, ConfigDef, List, hookimpl
from eosfw.builtin.isolation import ReadCommitted
from eosfw.concurrency import Runtime
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, Gap
from eosfw.records import LogBatch, OffsetRange

MASK = "***"


class MaskedReader:
    """What `read_committed` shows, with the values of some fields replaced."""

    name = "masked"
    config = ConfigDef(List("fields", doc="names of the fields to mask, separated by commas"))

    def __init__(self, reader: ReadCommitted) -> None:
        self._reader = reader
        self._fields: tuple[str, ...] | None = None

    @classmethod
    def over(cls, backend: Backend, runtime: Runtime, *, headers: bool = False) -> Self:
        return cls(ReadCommitted.over(backend, runtime, headers=headers))

    def configure(self, config: Config) -> None:
        self._fields = config["fields"]

    def bounds(self, topics: Collection[str]) -> Mapping[TopicPartition, OffsetRange]:
        return self._reader.bounds(topics)

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch | Gap]:
        if self._fields is None:  # better nothing than everything
            raise ValueError("the masked reader shows nothing before it was told which fields to mask")
        for shown in self._reader.read(ranges, stall_timeout):
            yield shown if isinstance(shown, Gap) else replace(shown, values=[*map(self._masked, shown.values)])

    def close(self) -> None:
        self._reader.close()

    def _masked(self, value: bytes | None) -> bytes | None:
        try:
            found = None if value is None else json.loads(value)
        except ValueError:
            return value
        if not isinstance(found, dict) or found.keys().isdisjoint(self._fields or ()):
            return value
        return json.dumps({name: MASK if name in (self._fields or ()) else own for name, own in found.items()}).encode()


@hookimpl
def eosfw_isolation_readers() -> list[type[MaskedReader]]:
    return [MaskedReader]
