"""What a client repeats is read once; whatever it changes counts at once."""

from __future__ import annotations

import struct

import pytest

from eosfw_memory.protocol.codec import RequestError
from eosfw_memory.protocol.request_cache import Reader


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def end_txn(number: int, *, name: str = "t", client: str = "me", commits: bool = True, version: int = 1) -> bytes:
    head = struct.pack(">hhi", 26, version, number) + text(client)
    return head + text(name) + struct.pack(">qh?", 1000, 0, commits)


@pytest.fixture
def reader() -> Reader:
    return Reader("/127.0.0.1")


def test_the_same_words_under_another_number_are_not_read_again(reader):
    assert reader.read(end_txn(2)) is reader.read(end_txn(1))


@pytest.mark.parametrize("other", [{"commits": False}, {"name": "u"}, {"name": "a name of another length"}])
def test_whatever_differs_is_read(reader, other):
    """COR-08: an abort behind a commit in the very same words is an abort."""
    first = reader.read(end_txn(1))

    second = reader.read(end_txn(2, **other))

    assert second.body != first.body
    assert second.body == Reader("").read(end_txn(3, **other)).body
    assert reader.read(end_txn(4)).body == first.body


def test_a_client_may_change_its_name(reader):
    names = [reader.read(end_txn(1, client=client)).context.client_id for client in ("me", "you", "somebody", "me")]

    assert names == ["me", "you", "somebody", "me"]


def test_a_client_may_change_the_version(reader):
    versions = [reader.read(end_txn(1, version=version)).context.version for version in (1, 2, 0, 1)]

    assert versions == [1, 2, 0, 1]


def test_a_request_of_any_size_may_follow_another(reader):
    """Of requests that are long only the beginning is compared, so none may be taken for another."""
    names = ["a" * 300, "b" * 300, "c", "a" * 300]

    assert [reader.read(end_txn(1, name=name)).body.transactional_id for name in names] == names


@pytest.mark.parametrize("size", range(len(end_txn(1))))
def test_what_is_cut_off_is_refused_behind_the_whole(reader, size):
    """What was known of the request before lends nothing to one that ends too soon."""
    reader.read(end_txn(1))

    with pytest.raises(RequestError):
        reader.read(end_txn(2)[:size])


def test_versions_asked_for_in_a_newer_way_are_told_each_time(reader):
    """KIP-511."""
    newer = struct.pack(">hhih", 18, 99, 42, -1) + b"\0whatever"

    assert [reader.read(newer).body for _ in range(3)] == [None] * 3
