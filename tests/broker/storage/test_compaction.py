"""Compaction keeps the latest value of each key, no aborted record, and markers while readers need them (BRK-09)."""

from __future__ import annotations

import sys

import pytest

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.codes import Code
from eosfw_memory.common.log_errors import StaleProducerEpochError
from eosfw_memory.server.broker.log_manager import LogManager
from eosfw_memory.storage.cleaner.compaction import compact
from eosfw_memory.storage.cleaner.retention import retain
from eosfw_memory.storage.files.disk import RUNNING
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.records.batch import header_at
from eosfw_memory.storage.records.codec import encode_batch

from ..brokers import produced, started
from ..log.log_harness import COMMITTED, NOW, UNCOMMITTED, plain, visible
from ..protocol.raw_batches import LZ4, PACKERS, batch, record
from .compaction import DAY, RULES, Keyed, cleaned, markers, rolled, values
from .data_directory_harness import TOPIC, DataDirectoryHarness, data_file, flip, leave_logs_alone


def test_compaction_stops_at_the_first_open_transaction(house):
    writer, free = Keyed(house.log, 1), Keyed(house.log, 2)
    first = writer.send((b"k", b"open"))
    for number in range(12):
        free.send((b"j", b"%d" % number), transactional=False)
    before = list(house.log.batches())
    assert not compact(house.log, NOW)
    assert list(house.log.batches()) == before
    assert house.log.first_dirty_offset <= first


@pytest.mark.parametrize("between", [11, 12, 13, 14])
def test_a_marker_stays_with_its_data_though_segments_lie_between_them(house, between):
    """KAFKA-8351, KAFKA-13727: what was seen of a transaction is not forgotten at the end of a segment."""
    writer, other = Keyed(house.log, 1), Keyed(house.log, 2)
    writer.send((b"long", b"kept"))
    for number in range(between):
        other.send((b"j", b"%d" % number), transactional=False)
    marker = writer.commit()
    for days in (0, 2, 4, 6):
        cleaned(house.log, NOW + days * DAY)
        assert marker in markers(house.log)
        assert b"kept" in values(house.log)


def test_an_aborted_transaction_across_the_end_of_cleaning_stays_aborted(house):
    """KAFKA-13727: its marker lies in a segment that is not cleaned yet."""
    writer, other = Keyed(house.log, 1), Keyed(house.log, 2)
    writer.send((b"k", b"bad"))
    for number in range(12):
        other.send((b"j", b"%d" % number), transactional=False)
    writer.send((b"k", b"bad too"))
    writer.abort()
    assert compact(house.log, NOW)
    assert {b"bad", b"bad too"}.isdisjoint(values(house.log))


def test_a_key_that_looks_like_a_marker_does_not_touch_markers(house):
    """KAFKA-14055: both keys are the bytes 0 0 0 1 (commit), or 0 0 0 0 (abort)."""
    writer, user = Keyed(house.log, 1), Keyed(house.log, 2)
    user.send((b"\0\0\0\1", b"null"), (b"\0\0\0\2", b"two"), transactional=False)
    writer.send((b"x", b"y"))
    writer.commit()
    assert b"null" in values(cleaned(house.log))
    writer.send((b"a", b"committed"))
    commit = writer.commit()
    writer.send((b"b", b"aborted"))
    abort = writer.abort()
    user.send((b"\0\0\0\1", b"one"), (b"\0\0\0\0", b"zero"), transactional=False)
    cleaned(house.log)
    assert {commit, abort} <= set(markers(house.log))
    assert values(house.log) == [b"two", b"y", b"committed", b"one", b"zero"]


def test_a_marker_without_data_is_removed_after_delete_retention_ms(house):
    """After its data is superseded the delete horizon is set, then passes; readers see no difference."""
    writer, other = Keyed(house.log, 1), Keyed(house.log, 2)
    writer.send((b"k", b"old"))
    marker = writer.commit()
    other.send((b"k", b"new"), transactional=False)
    house.log.expire_producers(NOW + 1)
    seen = []
    for days in (0, 0, 0.5, 3):
        cleaned(house.log, NOW + int(days * DAY))
        seen.append(marker in markers(house.log))
        assert values(house.log) == [b"new"]
    assert seen == [True, True, True, False]


def test_a_removed_abort_marker_hides_no_later_records(house):
    """Redpanda 2026-06: an aborted entry without its marker would hide committed records for ever."""
    writer = Keyed(house.log, 1)
    writer.send((b"k", b"bad"))
    marker = writer.abort()
    writer.send((b"k", b"good"))
    writer.commit()
    house.log.expire_producers(NOW + 1)
    for days in (0, 0, 3):
        cleaned(house.log, NOW + days * DAY)
    assert marker not in markers(house.log)
    assert values(house.log) == [b"good"]
    fetched = house.log.fetch(0, 1 << 20, COMMITTED)
    assert b"good" in [value for _, value in visible(fetched, 0)[0]]


def test_a_tombstone_is_removed_after_its_value_and_delete_retention(house):
    """KIP-534: `delete.retention.ms` counts from the first cleaning that saw it."""
    writer = Keyed(house.log, 1)
    writer.send((b"k", b"value"), transactional=False)
    writer.send((b"k", None), (b"other", b"stays"), transactional=False)
    seen = []
    for days in (0, 0.5, 2):
        cleaned(house.log, NOW + int(days * DAY))
        seen.append(values(house.log))
    assert seen == [[None, b"stays"], [None, b"stays"], [b"stays"]]


def from_the_log_alone(house, root) -> PartitionLog:
    """Start again without index and snapshot."""
    house.stop()
    leave_logs_alone(root)
    house.__init__(root)
    return house.log


def test_compaction_keeps_a_live_producers_last_batch_without_its_records(house, tmp_path):
    """The log alone, without any snapshot, still refuses a repetition and knows what is due."""
    writer, other = Keyed(house.log, 1), Keyed(house.log, 2)
    writer.send((b"k", b"1"), transactional=False)
    writer.send((b"k", b"2"), transactional=False)
    other.send((b"k", b"newest"), transactional=False)
    cleaned(house.log)
    assert values(house.log) == [b"newest"]
    log = from_the_log_alone(house, tmp_path)
    assert log.producers()[1].next_sequence == 2
    repeated = encode_batch([b"k"], [b"2"], NOW, producer=writer.producer, base_sequence=1)
    assert log.append(repeated, NOW).duplicate


def test_compaction_keeps_a_fenced_producer_by_its_marker_alone(house, tmp_path):
    """BRK-01, BRK-09: else a zombie of the epoch before could write again after the next start."""
    writer, other = Keyed(house.log, 1), Keyed(house.log, 2)
    writer.send((b"k", b"old"))
    zombie, writer.producer = writer.producer, ProducerIdAndEpoch(1, 1)
    marker = writer.abort()
    other.send((b"k", b"new"), transactional=False)
    for days in (0, 0, 3, 6):
        cleaned(house.log, NOW + days * DAY)
    assert marker in markers(house.log)

    log = from_the_log_alone(house, tmp_path)

    assert log.producers()[1].epoch == 1
    late = encode_batch([b"k"], [b"late"], NOW, producer=zombie, base_sequence=1, transactional=True)
    with pytest.raises(StaleProducerEpochError):
        log.append(late, NOW)


def test_the_last_sequence_number_is_known_though_its_transaction_was_aborted(house, tmp_path):
    """BRK-09: the records go, a batch without any stays, so that a repetition is one after the next start, too."""
    writer, other = Keyed(house.log, 1), Keyed(house.log, 2)
    writer.send((b"a", b"1"), (b"b", b"2"))
    writer.send((b"c", b"3"))
    writer.abort()
    other.send((b"d", b"newest"), transactional=False)
    for days in (0, 0, 3):
        cleaned(house.log, NOW + days * DAY)
    assert values(house.log) == values(house.log, UNCOMMITTED) == [b"newest"]

    log = from_the_log_alone(house, tmp_path)

    assert log.producers()[1].next_sequence == 3
    repeated = encode_batch([b"c"], [b"3"], NOW, producer=writer.producer, base_sequence=2, transactional=True)
    assert log.append(repeated, NOW).duplicate
    assert log.last_stable_offset == log.high_watermark


def test_an_expired_producer_leaves_no_empty_batch(house):
    writer, other = Keyed(house.log, 1), Keyed(house.log, 2)
    writer.send((b"k", b"1"), transactional=False)
    other.send((b"k", b"newest"), transactional=False)
    assert 1 in house.log.expire_producers(NOW)
    cleaned(house.log)
    assert 1 not in {header_at(batch, 0).producer_id for batch in house.log.batches()}


def test_a_producer_with_an_open_transaction_never_expires(house):
    """BRK-08, KAFKA-9144: the partition would forget the epoch, and the transaction could hang."""
    writer = Keyed(house.log, 1)
    writer.send((b"k", b"1"))
    assert house.log.expire_producers(NOW + 10 * DAY) == []
    assert [each.producer.producer_id for each in house.log.hanging_transactions(NOW + 1)] == [1]
    writer.commit()
    assert house.log.expire_producers(NOW - 1) == []
    assert house.log.expire_producers(NOW) == [1]


def test_retention_deletes_old_segments_but_never_the_active_one(tmp_path):
    """Retention and DeleteRecords: whole segments from the front; a restart knows where the log starts."""
    house = DataDirectoryHarness(tmp_path, **{"segment.bytes": "300", "retention.bytes": "400", "retention.ms": "1000"})
    for number in range(20):
        house.log.append(plain(b"%d" % number), NOW)
    assert retain(house.log, NOW) > 0
    assert 400 <= house.log.size < 800
    assert retain(house.log, NOW + 2000) > 0
    assert house.log.rolled_segments() == []
    assert house.log.high_watermark == 20
    start = house.log.delete_before(19)
    assert start == 19
    house.crash()
    house = DataDirectoryHarness(tmp_path)
    assert (house.log.log_start_offset, house.log.high_watermark) == (19, 20)
    house.stop()


def test_a_damaged_log_keeps_no_other_one_from_compaction(tmp_path):
    """It stays as it is: a batch that is written anew would get a checksum that fits its wrong bytes."""
    broker = started(tmp_path)
    logs = [broker.topics.create(name, 1, RULES).partitions[0].log for name in ("damaged", "whole")]
    for log in logs:
        writer = Keyed(log, 1)
        for number in range(3):
            writer.send((b"k", b"%d" % number), transactional=False)
        rolled(log)
    path = data_file(tmp_path, topic="damaged")
    flip(path, 65)
    content = path.read_bytes()

    LogManager(broker.topics, broker.settings).compact(NOW)

    assert path.read_bytes() == content
    assert values(logs[1]) == [b"2"]
    broker.close()


def test_a_log_that_cannot_be_unpacked_keeps_no_other_one_from_compaction(monkeypatch, caplog):
    """Its topic was not compacted when its records came, whose codec is not installed here."""
    packed = batch(record(), kind=LZ4, pack=PACKERS[LZ4])
    monkeypatch.setitem(sys.modules, "lz4.frame", None)
    broker = started()
    topic = broker.topics.create("packed", 1, {**RULES, "cleanup.policy": "delete"})
    log = broker.topics.create("whole", 1, RULES).partitions[0].log
    for _ in range(9):
        assert produced(broker, packed, topic="packed") is Code.NONE
    broker.topics.alter(topic, RULES)
    writer = Keyed(log, 1)
    for number in range(3):
        writer.send((b"k", b"%d" % number), transactional=False)
    rolled(log)

    manager = LogManager(broker.topics, broker.settings)
    for _ in range(2):
        manager.compact(NOW)

    assert values(log) == [b"2"]
    assert [message for message in caplog.messages if "pip install lz4" in message and "packed-0" in message] == [
        "packed-0: cannot be compacted: lz4 records cannot be unpacked without lz4. Try: pip install lz4"
    ]
    broker.close()


class Stopped(Exception):  # noqa: N818
    """Raised to end the broker between two writes."""


def test_a_log_whose_compaction_was_cut_short_is_served_though_it_is_compacted_no_more(tmp_path, monkeypatch):
    """Its missing offsets are none that were lost, whatever `cleanup.policy` became before the next compaction."""
    house = DataDirectoryHarness(tmp_path, **RULES)
    writer = Keyed(house.log, 1)
    for number in range(40):
        writer.send((b"own%d" % (number // 4), b"%d" % number), transactional=False)
    replace = PartitionLog.replace_segments

    def stop(log, *replaced):
        replace(log, *replaced)
        raise Stopped

    monkeypatch.setattr(PartitionLog, "replace_segments", stop)
    with pytest.raises(Stopped):
        compact(house.log, NOW)
    house.crash()

    house = DataDirectoryHarness(tmp_path)
    house.topics.alter(house.topics.by_name(TOPIC), {**RULES, "cleanup.policy": "delete"})
    found = values(house.log)
    house.stop()
    leave_logs_alone(tmp_path)

    house = DataDirectoryHarness(tmp_path)
    assert values(house.log) == found
    house.stop()


def test_a_compacted_log_is_served_though_a_power_cut_took_the_note_of_its_compaction(tmp_path):
    """The start behind the power cut takes missing offsets as they are, and notes it for those that follow."""
    house = DataDirectoryHarness(tmp_path, **RULES)
    writer = Keyed(house.log, 1)
    for number in range(40):
        writer.send((b"own%d" % (number // 4), b"%d" % number), transactional=False)
    found = values(cleaned(house.log))
    house.crash()
    (tmp_path / "cleaner-offset-checkpoint").unlink()
    (tmp_path / RUNNING).write_bytes(b"another run of the machine")

    for _ in range(2):
        leave_logs_alone(tmp_path)
        house = DataDirectoryHarness(tmp_path)
        assert values(house.log) == found
        house.crash()
