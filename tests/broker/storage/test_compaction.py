"""What compaction leaves: the latest of each key, nothing aborted, markers as long as anybody needs them (BRK-09)."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from eosfw.errors import DamagedDataError
from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.coordinators.states import Outcome
from eosfw_memory.log.batch import header_at
from eosfw_memory.log.codec import encode_batch
from eosfw_memory.log.errors import InvalidProducerEpochError, InvalidRecordError
from eosfw_memory.log.partition import PartitionLog
from eosfw_memory.log.retention import compact, retain
from eosfw_memory.storage.disk import Disk

from ..log.log_harness import COMMITTED, NOW, UNCOMMITTED, Consumer, plain, visible
from .kit import House

DAY = 86_400_000
RULES = {"cleanup.policy": "compact", "segment.bytes": "300", "min.cleanable.dirty.ratio": "0"}


class Keyed:
    """A transactional producer of records with keys."""

    def __init__(self, log: PartitionLog, producer_id: int) -> None:
        self.log, self.producer, self.sequence = log, ProducerIdAndEpoch(producer_id, 0), 0

    def send(self, *records: tuple[bytes, bytes | None], transactional: bool = True) -> int:
        keys, values = [key for key, _ in records], [value for _, value in records]
        batch = encode_batch(
            keys, values, NOW, producer=self.producer, base_sequence=self.sequence, transactional=transactional
        )
        self.sequence += len(records)
        return self.log.append(batch, NOW).base_offset

    def end(self, outcome: Outcome) -> int:
        return self.log.append_marker(self.producer, outcome, 0, NOW)

    def commit(self) -> int:
        return self.end(Outcome.COMMIT)

    def abort(self) -> int:
        return self.end(Outcome.ABORT)


@pytest.fixture
def house(tmp_path) -> Iterator[House]:
    made = House(tmp_path, **RULES)
    yield made
    made.stop()


def rolled(log: PartitionLog) -> None:
    """Have everything lie in sealed segments, so that it may be cleaned."""
    end = log.high_watermark
    other = Keyed(log, 10_000 + end)
    while not log.sealed_segments() or log.sealed_segments()[-1].end_offset < end:
        other.send((b"filling", b"f" * 100), transactional=False)


def cleaned(log: PartitionLog, now_ms: int = NOW) -> PartitionLog:
    rolled(log)
    assert compact(log, now_ms)
    return log


def values(log: PartitionLog, level=COMMITTED) -> list[bytes | None]:
    return [value for _, value in Consumer(log, level).drain() if value != b"f" * 100]


def markers(log: PartitionLog) -> list[int]:
    return [header.base_offset for batch in log.batches() if (header := header_at(batch, 0)).control]


def test_the_latest_value_of_each_key_stays_at_its_offset(house):
    writer = Keyed(house.log, 1)
    for number in range(9):
        writer.send((b"k%d" % (number % 3), b"v%d" % number), (b"own%d" % number, b"o"), transactional=False)
    before = dict(Consumer(house.log, COMMITTED).drain())
    cleaned(house.log)
    after = Consumer(house.log, COMMITTED).drain()
    assert values(house.log).count(b"o") == 9
    assert [value for value in values(house.log) if value != b"o"] == [b"v6", b"v7", b"v8"]
    assert all(before[offset] == value for offset, value in after if offset in before)


def test_nothing_aborted_stays_nor_takes_the_place_of_what_was_committed(house):
    """CON-03: an aborted record is no newer value of its key."""
    writer = Keyed(house.log, 1)
    writer.send((b"k", b"good"))
    writer.commit()
    writer.send((b"k", b"bad"))
    writer.abort()
    cleaned(house.log)
    assert values(house.log) == values(house.log, UNCOMMITTED) == [b"good"]


def test_nothing_is_cleaned_beyond_the_first_open_transaction(house):
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


def test_a_marker_without_data_goes_when_its_time_is_over(house):
    """Its data superseded, first the horizon is set, then it passes; nobody reads anything else meanwhile."""
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


def test_a_vanished_abort_marker_hides_nothing_of_what_its_producer_writes_later(house):
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


def test_a_tombstone_goes_after_its_value_and_its_time(house):
    """KIP-534: `delete.retention.ms` counts from the first cleaning that saw it."""
    writer = Keyed(house.log, 1)
    writer.send((b"k", b"value"), transactional=False)
    writer.send((b"k", None), (b"other", b"stays"), transactional=False)
    seen = []
    for days in (0, 0.5, 2):
        cleaned(house.log, NOW + int(days * DAY))
        seen.append(values(house.log))
    assert seen == [[None, b"stays"], [None, b"stays"], [b"stays"]]


def test_compaction_keeps_a_live_producers_last_batch_without_its_records(house, tmp_path):
    """The log alone, without any snapshot, still refuses a repetition and knows what is due."""
    writer, other = Keyed(house.log, 1), Keyed(house.log, 2)
    writer.send((b"k", b"1"), transactional=False)
    writer.send((b"k", b"2"), transactional=False)
    other.send((b"k", b"newest"), transactional=False)
    cleaned(house.log)
    assert values(house.log) == [b"newest"]
    house.stop()
    for path in [*tmp_path.rglob("*.snapshot"), *tmp_path.rglob("*.index")]:
        path.unlink()
    house.__init__(tmp_path)
    assert house.log.producers()[1].next_sequence == 2
    repeated = encode_batch([b"k"], [b"2"], NOW, producer=writer.producer, base_sequence=1)
    assert house.log.append(repeated, NOW).duplicate


def from_the_log_alone(house, root) -> PartitionLog:
    """Start again without index and snapshot."""
    house.stop()
    for path in [*root.rglob("*.snapshot"), *root.rglob("*.index")]:
        path.unlink()
    house.__init__(root)
    return house.log


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
    with pytest.raises(InvalidProducerEpochError):
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
    assert [each.producer.producer_id for each in house.log.late_transactions(NOW + 1)] == [1]
    writer.commit()
    assert house.log.expire_producers(NOW - 1) == []
    assert house.log.expire_producers(NOW) == [1]


def test_a_record_without_a_key_is_refused_where_it_would_be_lost(house):
    with pytest.raises(InvalidRecordError, match="came without a key"):
        house.log.append(plain(b"no key"), NOW)


def test_retention_deletes_old_segments_but_never_the_active_one(tmp_path):
    """Retention and DeleteRecords: whole segments from the front; a restart knows where the log starts."""
    house = House(tmp_path, **{"segment.bytes": "300", "retention.bytes": "400", "retention.ms": "1000"})
    for number in range(20):
        house.log.append(plain(b"%d" % number), NOW)
    assert retain(house.log, NOW) > 0
    assert 400 <= house.log.size < 800
    assert retain(house.log, NOW + 2000) > 0
    assert house.log.sealed_segments() == []
    assert house.log.high_watermark == 20
    start = house.log.delete_before(19)
    assert start == 19
    house.crash()
    house = House(tmp_path)
    assert (house.log.log_start_offset, house.log.high_watermark) == (19, 20)
    house.stop()


# --- segments that are joined


def updated(log: PartitionLog, rounds: int, producer_id: int = 1) -> None:
    """A few keys, each written again and again, cleaned now and then."""
    writer = Keyed(log, producer_id)
    for number in range(rounds):
        for key in (b"a", b"b", b"c"):
            writer.send((key, b"%d" % number), transactional=False)
        writer.send((b"a", b"t%d" % number))
        writer.commit()
        if number % 5 == 4:
            compact(log, NOW + number * DAY)


def test_the_number_of_files_does_not_grow_with_what_was_written(house, tmp_path):
    """Each segment was rewritten for itself, and none ever went."""
    updated(house.log, 20)
    before = len(list(tmp_path.rglob("*.log")))
    updated(house.log, 100, 2)
    assert len(list(tmp_path.rglob("*.log"))) <= before + 1
    assert len(house.log.sealed_segments()) < 10
    assert len(list(tmp_path.rglob("*.snapshot"))) <= len(house.log.sealed_segments()) + 2


def test_no_joined_segment_is_larger_than_a_segment_may_be(house):
    """What does not fit stays apart."""
    writer = Keyed(house.log, 1)
    for number in range(40):
        writer.send((b"own%d" % number, b"o"), transactional=False)
    cleaned(house.log)
    sizes = [segment.size for segment in house.log.sealed_segments()]
    assert max(sizes) <= int(RULES["segment.bytes"])
    assert all(first + second > int(RULES["segment.bytes"]) for first, second in itertools.pairwise(sizes))


def test_a_missing_segment_is_refused_after_segments_were_merged(house, tmp_path):
    """Each segment ends where the next begins, whatever compaction took."""
    writer = Keyed(house.log, 1)
    for number in range(40):
        writer.send((b"own%d" % (number // 2), b"o"), transactional=False)
    cleaned(house.log)
    house.stop()
    second = sorted(tmp_path.rglob("*.log"))[1]
    content = second.read_bytes()
    second.unlink()
    with pytest.raises(DamagedDataError, match="leaves a gap before the next segment"):
        House(tmp_path)
    second.write_bytes(content)
    house.__init__(tmp_path)


@pytest.mark.parametrize("bare", [False, True], ids=["all", "log alone"])
def test_a_crash_at_any_step_of_a_join_loses_nothing(tmp_path, monkeypatch, bare):
    """What covers others counts from its name on, whether or not they are gone."""
    root, states = tmp_path / "data", tmp_path / "states"
    house = House(root, **RULES)
    updated(house.log, 4)
    rolled(house.log)
    before = (Consumer(house.log, COMMITTED).drain(), house.log.high_watermark)

    def copied() -> None:
        shutil.copytree(root, states / f"{len(list(states.iterdir())):03d}")

    def step(name: str, of: type) -> None:
        real = getattr(of, name)

        def recorded(self, *given, **named):
            copied()
            return real(self, *given, **named)

        monkeypatch.setattr(of, name, recorded)

    states.mkdir()
    for name in ("write", "rename", "replace", "sync_directory"):
        step(name, Disk)
    step("unlink", Path)
    segments = len(house.log.sealed_segments())
    assert compact(house.log, NOW)
    monkeypatch.undo()
    assert len(house.log.sealed_segments()) < segments - 2
    copied()
    after = Consumer(house.log, COMMITTED).drain()
    house.crash()

    found = []
    for state in sorted(states.iterdir()):
        for path in [path for path in state.rglob("*") if bare and path.suffix in (".index", ".snapshot")]:
            path.unlink()
        for _ in range(2):
            house = House(state)
            rows = Consumer(house.log, COMMITTED).drain()
            assert (house.log.high_watermark, set(rows) >= set(after)) == (before[1], True)
            assert set(rows) <= set(before[0])
            house.crash()
        assert not [path for path in state.rglob("*") if path.suffix in (".joined", ".tmp")]
        found.append(len(rows))
    assert found[0] == len(before[0])
    assert found[-1] == len(after)
    assert len(found) > 10


# --- a model


class CompactingMachine(RuleBasedStateMachine):
    """Transactions, aborts, compactions, restarts in any order, beside a list of what was committed."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="eosfw-"))
        self.house = House(self.root, **RULES)
        self.writers = [Keyed(self.house.log, pid) for pid in range(3)]
        self.open: dict[int, list[tuple[int, bytes, bytes | None]]] = {}
        self.committed: list[tuple[int, bytes, bytes | None]] = []
        self.hours, self.count = 0, itertools.count()

    @property
    def log(self):
        return self.house.log

    @rule(pid=st.integers(0, 2), keys=st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), min_size=1, max_size=3))
    def write(self, pid, keys):
        records = [(key, b"%d" % next(self.count)) for key in keys]
        offset = self.writers[pid].send(*records)
        self.open.setdefault(pid, []).extend((offset + at, *record) for at, record in enumerate(records))

    @rule(pid=st.integers(0, 2), key=st.sampled_from([b"a", b"b"]))
    def remove(self, pid, key):
        offset = self.writers[pid].send((key, None))
        self.open.setdefault(pid, []).append((offset, key, None))

    @rule(pid=st.integers(0, 2), outcome=st.sampled_from(Outcome))
    def end(self, pid, outcome):
        if pid in self.open:
            self.writers[pid].end(outcome)
            records = self.open.pop(pid)
            self.committed = sorted(self.committed + (records if outcome is Outcome.COMMIT else []))

    @rule(hours=st.sampled_from([0, 1, 30]))
    def clean(self, hours):
        self.hours += hours
        compact(self.log, NOW + self.hours * 3_600_000)

    @rule(clean=st.booleans(), bare=st.booleans())
    def restart(self, clean, bare):
        self.house.stop() if clean else self.house.crash()
        for path in [path for path in self.root.rglob("*") if bare and path.suffix in (".index", ".snapshot")]:
            path.unlink()
        self.house = House(self.root)
        for writer in self.writers:
            writer.log = self.log

    def read(self, level, max_bytes):
        reader, rows = Consumer(self.log, level, max_bytes), []
        end = self.log.visible_end(level)
        while reader.position < end:
            before = reader.position
            rows += reader.poll()
            if reader.position == before:
                break
        return rows

    @precondition(lambda self: self.log.high_watermark)
    @invariant()
    def readers_see_the_latest_of_each_key_and_nothing_aborted(self):
        """At both levels, whole or in bites of a batch."""
        stable = self.log.last_stable_offset
        truth = {offset: value for offset, _, value in self.committed}
        for max_bytes in (1, 1 << 20):
            rows = self.read(COMMITTED, max_bytes)
            assert all(truth.get(offset, "aborted") == value for offset, value in rows)
            seen = dict(rows)
            latest = {key: (offset, value) for offset, key, value in self.committed if offset < stable}
            assert all(offset in seen or value is None for offset, value in latest.values())
        unsure = {offset: value for rows in self.open.values() for offset, _, value in rows}
        below = self.log.first_dirty_offset
        dirty = [(offset, value) for offset, value in self.read(UNCOMMITTED, 1 << 20) if offset < below]
        assert all({**truth, **unsure}.get(offset, "aborted") == value for offset, value in dirty)

    @invariant()
    def open_transactions_are_known(self):
        assert {pid for _, pid in self.log.state.open} == set(self.open)

    def teardown(self):
        self.house.crash()
        shutil.rmtree(self.root)


CompactingMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestCompactingMachine = CompactingMachine.TestCase
