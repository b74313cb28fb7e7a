"""Which records a fetch returns at each isolation level."""

from __future__ import annotations

import pytest

from eosfw_memory.common.log_errors import OffsetOutOfRangeError
from eosfw_memory.storage.records.batch import split
from eosfw_memory.storage.records.codec import encode_batch

from .log_harness import COMMITTED, NOW, PLENTY, UNCOMMITTED, plain


def test_a_fetch_into_the_middle_of_a_batch_returns_the_whole_batch(log):
    log.append(plain(b"a", b"b", b"c"), NOW)

    fetched = log.fetch(2, PLENTY, UNCOMMITTED)

    assert [header.base_offset for header, _ in split(fetched.records)] == [0]


@pytest.mark.parametrize(("room", "batches"), [(0, 1), (1, 1), (2.99, 2), (3, 3), (9, 5)])
def test_a_fetch_returns_whole_batches_up_to_its_limit_but_always_one(log, room, batches):
    """KIP-74: a batch above the limit would otherwise stop its reader for ever."""
    for _ in range(5):
        log.append(plain(b"x"), NOW)

    fetched = log.fetch(0, int(room * log.size / 5), UNCOMMITTED)

    assert len(list(split(fetched.records))) == batches


def test_a_fetch_at_the_end_is_empty_and_beyond_it_refused(log):
    log.append(plain(b"a"), NOW)

    assert log.fetch(1, PLENTY, UNCOMMITTED).records == b""
    assert log.fetch(1, PLENTY, COMMITTED).records == b""
    for outside in (-1, 2):
        with pytest.raises(OffsetOutOfRangeError, match="flights-0"):
            log.fetch(outside, PLENTY, UNCOMMITTED)


class TestByTime:
    @pytest.mark.parametrize(
        ("timestamp", "offset"), [(0, 0), (10, 0), (11, 1), (20, 1), (21, 2), (30, 2), (31, 4), (40, 4)]
    )
    def test_a_timestamp_lookup_finds_the_first_record_at_or_after_it(self, log, timestamp, offset):
        log.append(encode_batch(None, [b"", b""], [10, 20]), NOW)
        log.append(encode_batch(None, [b"", b""], [30, 5]), NOW)
        log.append(encode_batch(None, [b""], 40), NOW)

        assert log.offset_for_timestamp(timestamp).offset == offset
        assert log.offset_for_timestamp(41) is None

    def test_a_timestamp_lookup_works_with_decreasing_timestamps(self, log):
        for timestamp in (50, 10, 60):
            log.append(encode_batch(None, [b""], timestamp), NOW)

        assert [log.offset_for_timestamp(at)[:2] for at in (10, 40, 50)] == [(50, 0)] * 3
        assert log.offset_for_timestamp(51)[:2] == (60, 2)
