"""Connectors read schemas and values from JSON as JsonConverter does."""

from __future__ import annotations

import pytest

from eosfw.builtin.converters import parse_json, read_payload, read_schema
from eosfw.data import INT64, STRING, array, struct
from eosfw.errors import DataError

ORDER = struct({"id": INT64, "tags": array(STRING).as_optional()})
DOCUMENT = b"""{"type": "struct", "fields": [{"field": "id", "type": "int64"},
    {"field": "tags", "type": "array", "items": {"type": "string"}, "optional": true}]}"""


def test_a_document_is_a_schema_as_in_an_envelope() -> None:
    """CNV-05."""
    assert read_schema(parse_json(DOCUMENT)) == ORDER


@pytest.mark.parametrize(
    ("payload", "value"),
    [
        (b'{"id": 1, "tags": ["a"]}', {"id": 1, "tags": ["a"]}),
        (b'{"id": 1, "more": 2}', {"id": 1, "tags": None}),
    ],
)
def test_a_document_is_a_value_of_a_schema(payload: bytes, value: object) -> None:
    """CNV-05: what the schema has not is left out."""
    assert read_payload(ORDER, parse_json(payload)) == value


@pytest.mark.parametrize("payload", [b"[]", b"{}", b'{"id": "secret"}', b'{"id": 1, "tags": [2]}'])
def test_a_document_that_is_no_value_is_refused_without_it(payload: bytes) -> None:
    """CNV-05."""
    with pytest.raises(DataError) as raised:
        read_payload(ORDER, parse_json(payload))
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("document", [b"{}", b'{"type": "int128"}', b'{"type": "array"}', b"1"])
def test_a_document_that_is_no_schema_is_refused(document: bytes) -> None:
    """CNV-05."""
    with pytest.raises(DataError):
        read_schema(parse_json(document))
