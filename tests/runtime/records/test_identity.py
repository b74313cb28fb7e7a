"""What tells one record from another."""

from __future__ import annotations

import pytest

from eosfw.errors import ConfigError, DamagedDataError
from eosfw.identity import identity_headers, identity_of


def test_headers_identify_by_connector_partition_and_offset() -> None:
    one = identity_of(b"v", identity_headers("c", {"file": "a"}, {"position": 5}), "headers")

    assert one == identity_of(b"other value", identity_headers("c", {"file": "a"}, {"position": 5}), "headers")
    assert one != identity_of(b"v", identity_headers("d", {"file": "a"}, {"position": 5}), "headers")
    assert one != identity_of(b"v", identity_headers("c", {"file": "b"}, {"position": 5}), "headers")
    assert one != identity_of(b"v", identity_headers("c", {"file": "a"}, {"position": 6}), "headers")


def test_the_order_of_keys_changes_no_identity() -> None:
    assert identity_headers("c", {"a": 1, "b": 2}, {}) == identity_headers("c", {"b": 2, "a": 1}, {})


def test_headers_hide_no_boundary_between_their_parts() -> None:
    one = identity_of(None, identity_headers("c", {"a": "x\0"}, {"b": "y"}), "headers")

    assert one.count(b"\0") == 2


def test_a_field_identifies_by_its_value_as_json() -> None:
    assert identity_of(b'{"id": "7"}', (), "field:id") == b'"7"'
    assert identity_of(b'{"id": 7}', (), "field:id") == b"7"
    assert identity_of(b'{"id": {"b": 1, "a": 2}}', (), "field:id") == identity_of(
        b'{"id":{"a":2,"b":1}}', (), "field:id"
    )


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (b"{}", "headers"),
        (b"not json", "field:id"),
        (b'{"other": 1}', "field:id"),
        (b"[1]", "field:id"),
        (None, "field:id"),
    ],
)
def test_a_record_without_the_identity_asked_for_is_damaged(value: bytes | None, kind: str) -> None:
    with pytest.raises(DamagedDataError, match="has no identity"):
        identity_of(value, (), kind)


@pytest.mark.parametrize("kind", ["values", "field:", "", "header"])
def test_an_unknown_kind_is_refused(kind: str) -> None:
    with pytest.raises(ConfigError, match="no identity is called"):
        identity_of(b"{}", (), kind)
