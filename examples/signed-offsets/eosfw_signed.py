"""An offset store whose values carry a signature, so that an offset that somebody made up or moved is not followed.

    "offset.store" = "signed"
    "offset.store.key.file" = "/run/secrets/offsets.key"

A signature covers key and value: an offset copied to another source partition does not count either. It cannot show
that an *older* offset of the same partition was put back, nor that one was removed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from eosfw import Boolean, Config, ConfigDef, String, hookimpl
from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw.records import LogBatch, ProducerRecord, SourceOffset, SourcePartition

SEPARATOR = b"\n"
"""Between value and signature: JSON without spaces has none."""


class SignedOffsetStore:
    """Kafka Connect's keys and values, each value followed by a line with its HMAC-SHA256."""

    name = "signed"
    config = ConfigDef(
        String(
            "key.file", doc="file with the secret, at least 16 bytes; not the secret itself: properties are no place"
        ),
        Boolean("accept.unsigned", False, "take offsets without a signature, once, to move from `kafka`"),
    )

    def __init__(self) -> None:
        self._plain = KafkaOffsetStore()
        self._secret = b""
        self._accept_unsigned = False

    def configure(self, config: Config) -> None:
        self._secret = _secret(config["key.file"])
        self._accept_unsigned = config["accept.unsigned"]

    def encode(
        self, connector: str, topic: str, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]
    ) -> Sequence[ProducerRecord]:
        records = self._plain.encode(connector, topic, offsets)
        return [one if one.value is None else replace(one, value=self._signed(one.key, one.value)) for one in records]

    def decode(
        self, connector: str, committed: Iterable[LogBatch]
    ) -> Mapping[str, tuple[SourcePartition, SourceOffset]]:
        return self._plain.decode(connector, self._checked(connector, committed))

    def partition_key(self, partition: SourcePartition) -> str:
        return self._plain.partition_key(partition)

    def _checked(self, connector: str, committed: Iterable[LogBatch]) -> Iterator[LogBatch]:
        for batch in committed:
            columns = zip(batch.offsets, batch.keys, batch.values, strict=True)
            yield replace(batch, values=[self._value(connector, batch, *one) for one in columns])

    def _value(
        self, connector: str, batch: LogBatch, offset: int, key: bytes | None, value: bytes | None
    ) -> bytes | None:
        if value is None or key is None or not _is_of(connector, key):
            return value
        plain, separator, _ = value.rpartition(SEPARATOR)
        if separator and hmac.compare_digest(self._signed(key, plain), value):
            return plain
        if not separator and self._accept_unsigned:
            return value
        what = "a signature that does not fit" if separator else "no signature"
        raise DamagedDataError(
            f"the source offset of connector {connector} at topic {batch.topic}, partition {batch.partition}, offset "
            f"{offset} has {what}; find out who wrote it, or say offset.store.accept.unsigned=true if you know"
        )

    def _signed(self, key: bytes | None, value: bytes) -> bytes:
        covered = len(key or b"").to_bytes(4) + (key or b"") + value
        return value + SEPARATOR + hmac.new(self._secret, covered, hashlib.sha256).hexdigest().encode()


def _is_of(connector: str, key: bytes) -> bool:
    try:
        return bool(json.loads(key)[0] == connector)
    except (ValueError, LookupError, TypeError):
        return False


def _secret(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            secret = file.read().strip()
    except OSError as error:
        raise ConfigError(Problem("", f"offset.store.key.file: {path} cannot be read: {error.strerror}")) from None
    if len(secret) < 16:
        raise ConfigError(
            Problem("", f"offset.store.key.file: {path} holds {len(secret)} bytes; a secret has 16 or more")
        )
    return secret


@hookimpl
def eosfw_offset_stores() -> list[type[SignedOffsetStore]]:
    return [SignedOffsetStore]
