"""Stepping over records finds what decoding them would, without its price."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw_memory.common.log_errors import InvalidRecordError, UnreadableRecordsError
from eosfw_memory.storage.records.batch import HEADER, read_header
from eosfw_memory.storage.records.codec import decode_records, encode_batch
from eosfw_memory.storage.records.record_validation import RecordWalk

from .log_harness import NOW, unhurried

SIZES = [0, 1, 5, 60, 61, 62, 63, 64, 100, 8000, 9000]
COUNTS = [1, 2, 8, 16, 17, 63, 64, 65, 72, 200]


@st.composite
def columns(draw):
    """Keys, values, timestamps, headers; often of one size, since such records are stepped over in another way."""
    count = draw(st.sampled_from(COUNTS))
    value = st.none() | st.sampled_from(SIZES).map(bytes)
    values = [draw(value)] * count if draw(st.booleans()) else draw(st.lists(value, min_size=count, max_size=count))
    keys = draw(
        st.none()
        | st.just([b"key"] * count)
        | st.lists(st.none() | st.binary(max_size=3), min_size=count, max_size=count)
    )
    stamps = draw(
        st.just(NOW)
        | st.lists(st.sampled_from([NOW, NOW + 1, NOW - 1, NOW + 100, NOW + 9000]), min_size=count, max_size=count)
    )
    pairs = st.just(()) | st.just((("h", b"v"), ("h", None)))
    headers = draw(st.none() | st.lists(pairs, min_size=count, max_size=count))
    return keys, values, stamps, headers


def walked(batch: bytes) -> RecordWalk:
    return RecordWalk(batch, HEADER.size, read_header(batch).records)


@given(columns())
@unhurried
def test_record_walk_and_decoding_find_the_same_records(made):
    """The walk checks batches of clients instead of decoding them, so it must see no less."""
    keys, values, stamps, headers = made
    batch = encode_batch(keys, values, stamps, headers=headers)
    header, found = read_header(batch), decode_records(batch)

    walk = walked(batch)

    assert {header.base_timestamp + ((raw >> 1) ^ -(raw & 1)) for raw in walk.deltas} == set(found.timestamps)
    assert walk.keyless is (None in found.keys)
    assert not walk.shifted


@given(columns(), st.data())
@unhurried
def test_validation_accepts_a_changed_byte_only_if_decoding_does(made, data):
    """Every accepted batch must be readable later."""
    keys, values, stamps, headers = made
    batch = bytearray(encode_batch(keys, values, stamps, headers=headers))
    header = read_header(bytes(batch))
    at = data.draw(st.integers(HEADER.size, min(len(batch), HEADER.size + 400) - 1))
    batch[at] = data.draw(st.integers(0, 255))

    try:
        RecordWalk(bytes(batch), HEADER.size, header.records)
    except (InvalidRecordError, UnreadableRecordsError):
        return

    assert len(decode_records(bytes(batch), header).offsets) == header.records


@pytest.mark.parametrize("wrong", [0, 1, 63, 64, 65, 500, 999])
@pytest.mark.parametrize("part", ["size", "value size", "number of headers"])
def test_a_wrong_number_in_any_of_a_thousand_equal_records_is_found(wrong, part):
    batch = bytearray(encode_batch(None, [b"v" * 5] * 1000, NOW))
    size = 1 + 3 + 1 + 1 + 5 + 1
    start = HEADER.size + wrong * size + max(0, wrong - 64)
    at = start + {"size": 0, "value size": -7, "number of headers": -1}[part]
    at += 0 if part == "size" else size + (wrong >= 64)
    batch[at] += 2

    with pytest.raises(InvalidRecordError):
        RecordWalk(bytes(batch), HEADER.size, 1000)


def test_offsets_in_disorder_are_seen_among_equal_records():
    batch = bytearray(encode_batch(None, [b"v"] * 20, NOW))
    batch[HEADER.size + 9 * 8 + 3] = 0

    assert RecordWalk(bytes(batch), HEADER.size, 20).shifted


@pytest.mark.parametrize("stamps", [NOW, [NOW + number // 40 for number in range(10_000)]], ids=["at once", "slowly"])
def test_uniform_records_are_validated_in_few_steps(stamps):
    """The embedded broker looks at all that comes over a wire, so the usual batch must cost little."""
    batch = encode_batch(None, [b"v" * 80] * 10_000, stamps)
    steps = []
    sys.setprofile(lambda frame, event, _: steps.append(frame.f_code.co_name) if event == "call" else None)
    try:
        walk = RecordWalk(batch, HEADER.size, 10_000)
    finally:
        sys.setprofile(None)

    assert not walk.shifted
    assert steps.count("_alike") < 10
    assert len(steps) < 500
    assert "_each" not in steps


@pytest.mark.parametrize("each", [1, 7, 100, 1000, 3000])
@pytest.mark.parametrize("later", [0, 100, 5000])
def test_every_timestamp_of_thousands_of_equal_records_is_seen(each, later):
    """For offset deltas of every encoded length, in small and large batches."""
    stamps = [NOW, *(NOW + later + number // each for number in range(3000))]

    walk = RecordWalk(encode_batch(None, [b"v"] * len(stamps), stamps), HEADER.size, len(stamps))

    assert {NOW + (raw >> 1) for raw in walk.deltas} == set(stamps)


def test_offsets_of_any_length_count_the_records():
    batch = encode_batch(None, [b"v"] * 70_000, NOW)

    assert not RecordWalk(batch, HEADER.size, 70_000).shifted
