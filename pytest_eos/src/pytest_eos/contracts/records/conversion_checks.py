"""What holds for every conversion to bytes, of values and of headers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from eosfw.data import Schema, SchemaAndValue, Type, default_of
from pytest_eos.contracts.records.outcomes import Refused, outcome, refuse_shown
from pytest_eos.contracts.records.samples import Sample

Convert = Callable[[Schema | None, Any], bytes | None]
Read = Callable[[bytes | None], SchemaAndValue]
STRANGE = (
    b"",
    b"\0",
    b"canary-\xff\xfe",
    b"{canary",
    b"canary",
    b'{"schema":{"type":"int32"},"payload":"canary-"}',
    b"[" * 99_999,
)
"""Bytes that no converter of the kind may have written."""


class _Unknown:
    """A type of value that no converter knows."""


def each(samples: Sequence[Sample]) -> Iterator[tuple[Schema | None, Any]]:
    """A copy of every value with its schema: a converter that changes what it is given hides it from no later test."""
    return ((schema, deepcopy(value)) for schema, values in samples for value in values)


def refuse_other_than_bytes(convert: Convert, samples: Sequence[Sample]) -> None:
    """Fail unless each value becomes bytes, or is refused without being shown, and one at least becomes bytes."""
    taken = []
    for schema, value in each(samples):
        found = outcome(convert, schema, value)
        if isinstance(found, Refused):
            refuse_shown(found.message, schema, value)
            continue
        assert found is None or type(found) is bytes, f"a {type(value).__name__} became a {type(found).__name__}"
        taken.append(schema)
    assert taken, "it takes none of the values: let the fixture give some that it takes"


def refuse_nulls_that_fail(convert: Convert, samples: Sequence[Sample]) -> None:
    """Fail unless a null becomes bytes or None, or is refused: without a schema, and with each that allows it."""
    for schema in (None, *(one.as_optional() for one, _ in samples if one is not None)):
        found = outcome(convert, schema, None)
        assert found is None or isinstance(found, (bytes, Refused)), f"a null became a {type(found).__name__}"


def refuse_other_bytes_again(convert: Convert, other: Convert, samples: Sequence[Sample]) -> None:
    """Fail unless the same value becomes the same bytes again, also where another instance converts."""
    for schema, value in each(samples):
        asks = (convert, convert, other)
        found = [outcome(ask, schema, value) for ask in asks]
        assert found[0] == found[1], "the same value became other bytes the second time"
        assert found[0] == found[2], "the same value became other bytes by another instance of the same properties"


def refuse_errors_without_field(convert: Convert) -> None:
    """Fail if the refusal of a value in a field does not name the field."""
    for name in ("odd", "outer.odd"):
        outer, _, inner = name.rpartition(".")
        sound, unsound = ({inner: one} for one in (1, _Unknown()))
        good, bad = (({outer: one} if outer else one) for one in (sound, unsound))
        if isinstance(outcome(convert, None, good), Refused):
            continue
        found = outcome(convert, None, bad)
        if isinstance(found, Refused):
            assert inner in found.message, f"the refusal of a field does not name it: {found.message}"


def refuse_changes(convert: Convert, samples: Sequence[Sample]) -> None:
    """Fail if a conversion changes what it is given: verification converts the same object again."""
    for schema, value in each(samples):
        before = deepcopy(value)
        outcome(convert, schema, value)
        assert value == before, f"it changed the {type(value).__name__} that it was given"


def refuse_other_values_read(convert: Convert, read: Read, samples: Sequence[Sample]) -> None:
    """Fail unless what is read is what was written: with the schema of that, or as what becomes the same bytes."""
    for schema, value in each(samples):
        written = outcome(convert, schema, value)
        if isinstance(written, Refused):
            continue
        found = read(written)
        assert isinstance(found, SchemaAndValue), f"reading gave a {type(found).__name__}, not a SchemaAndValue"
        if schema is not None and found.schema == schema:
            same = _with_defaults(schema, found.value) == _with_defaults(schema, value)
            assert same, f"a {schema.type.name} was not read back as it was written"
        again = outcome(convert, *found)
        assert again == written, f"what was read of a {type(value).__name__} becomes other bytes than were read"


def refuse_failures_to_read(read: Read) -> None:
    """Fail unless bytes of others are read, or refused without being shown; null is a null."""
    assert read(None).value is None, "null was not read as null"
    for data in STRANGE:
        found = outcome(read, data)
        if isinstance(found, Refused):
            refuse_shown(found.message, None, "canary-")


def _with_defaults(schema: Schema, value: Any) -> Any:
    """A value with the defaults in the places of nulls, which a converter may write instead."""
    if value is None:
        return default_of(schema)
    if schema.type is Type.STRUCT:
        return {one.name: _with_defaults(one.schema, value[one.name]) for one in schema.fields}
    if schema.value_schema is None:
        return value
    if isinstance(value, Mapping):
        return {key: _with_defaults(schema.value_schema, one) for key, one in value.items()}
    return [_with_defaults(schema.value_schema, one) for one in value]
