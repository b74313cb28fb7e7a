"""What a task reads of a range whose records may go while it is planned or read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from eosfw.errors import DamagedDataError, ReadStalledError, RetriableError
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, Gap, IsolationReader
from eosfw.records import LogBatch, OffsetRange
from eosfw_spark.clients import open_backend, open_isolation_reader
from eosfw_spark.source.batch_reader import EosfwReader, plan_ranges
from eosfw_spark.source.data_loss import DataLossReason
from eosfw_spark.source.offset_ranges import Split
from eosfw_spark.source.options import COMMITTED, parse
from eosfw_spark.source.split_reader import SplitReader

WAIT = 30.0
WHY = DataLossReason.DELETED.value
pytestmark = pytest.mark.parametrize("cluster", ["embedded"], indirect=True)


@pytest.fixture(params=["memory", "confluent", "kafka-python"])
def backend(request: pytest.FixtureRequest, cluster: Any) -> Iterator[Backend]:
    with open_backend(request.param, {"bootstrap.servers": cluster.bootstrap_servers}) as made:
        yield made


@pytest.fixture
def reader(backend: Backend) -> Iterator[IsolationReader]:
    with open_isolation_reader(backend, COMMITTED, headers=False) as made:
        yield made


@pytest.fixture
def read(backend: Backend, reader: IsolationReader) -> Callable[..., list[bytes | None]]:
    def values(split: Split, *, fail: bool = True, stall_timeout: float = WAIT) -> list[bytes | None]:
        return values_of(over(reader, backend, fail=fail).read([split], stall_timeout))

    return values


def over(reader: IsolationReader, backend: Backend, *, fail: bool) -> SplitReader:
    return SplitReader(reader.read, lambda: closing(backend.admin()), fail_on_data_loss=fail)


def values_of(batches: Iterable[LogBatch]) -> list[bytes | None]:
    return [value for batch in batches for value in batch.values]


def whole(backend: Backend, topic: str, end: int, start: int = 0) -> Split:
    return Split(TopicPartition(topic, 0), OffsetRange(start, end), backend.admin().topic_ids([topic])[topic])


def test_markers_and_aborted_records_are_no_loss(history: Any, backend: Backend, read: Any, caplog: Any) -> None:
    topic = history.topic()
    history.commit(topic, [b"a"])
    history.abort(topic, [b"lost"])
    history.commit(topic, [b"b"])

    assert read(whole(backend, topic, 6)) == [b"a", b"b"]
    assert caplog.messages == []


def test_what_is_left_is_read_with_a_warning(history: Any, backend: Backend, read: Any, caplog: Any) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"b", b"c"])
    history.delete_before(topic, 2)

    assert read(whole(backend, topic, 3), fail=False) == [b"c"]
    assert [message for message in caplog.messages if "lost" in message] == [
        f"{topic}-0 lost its offsets 0 to 1: {WHY}; failOnDataLoss is false: reading goes on at 2"
    ]


def test_what_is_left_of_several_partitions_is_read_at_once(
    history: Any, backend: Backend, reader: IsolationReader, caplog: Any
) -> None:
    """One partition has lost records, one all of its records and its topic, one nothing: the warnings name two."""
    topic, gone = history.topic(2), history.topic()
    history.commit(topic, [b"a", b"b", b"c"])
    history.commit(topic, [b"d"], partition=1)
    history.commit(gone, [b"e"])
    untouched = replace(whole(backend, topic, 2), partition=TopicPartition(topic, 1))
    splits = [whole(backend, topic, 4), untouched, whole(backend, gone, 2)]
    history.delete_before(topic, 2)
    history.delete(gone)

    found = values_of(over(reader, backend, fail=False).read(splits, WAIT))

    assert sorted(value or b"" for value in found) == [b"c", b"d"]
    lost = [message.split(":")[0] for message in caplog.messages if "lost" in message]
    assert sorted(lost) == sorted([f"{topic}-0 lost its offsets 0 to 1", f"{gone}-0 lost its records from offset 0 on"])


@pytest.mark.parametrize("values", [[b"x"], [b"x", b"y", b"z"]], ids=["shorter", "longer"])
def test_a_topic_created_again_since_the_plan_fails_a_read(
    history: Any, backend: Backend, read: Any, values: list[bytes]
) -> None:
    """Whether the read waits for offsets that never come, or finds other records at the same offsets."""
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])
    split = whole(backend, topic, 3)
    history.create_again(topic, *values)

    with pytest.raises(DamagedDataError, match=f"{topic}-0 lost its records from offset .*deleted and created again"):
        read(split, stall_timeout=1.0)


def test_offsets_behind_the_end_of_a_log_are_lost(
    history: Any, backend: Backend, reader: IsolationReader, read: Any, caplog: Any
) -> None:
    """No transaction holds them back: they were never written, or the log was cut."""
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])

    with pytest.raises(DamagedDataError, match=f"{topic}-0 lost its offsets 3 to 8: its log ends before them"):
        read(whole(backend, topic, 9, start=3), stall_timeout=1.0)

    def read_and_stall(ranges: Mapping[TopicPartition, OffsetRange], _: float) -> Iterator[LogBatch | Gap]:
        """As the client does, which would wait for less than a busy machine takes to read what is there."""
        yield from reader.read({each: OffsetRange(found.start, 3) for each, found in ranges.items()}, WAIT)
        raise ReadStalledError("no progress", waiting=[(topic, 0, 3)])

    split_reader = SplitReader(read_and_stall, lambda: closing(backend.admin()), fail_on_data_loss=False)
    assert values_of(split_reader.read([whole(backend, topic, 9)], WAIT)) == [b"a", b"b"]
    assert [message.split(":")[0] for message in caplog.messages if "lost" in message] == [
        f"{topic}-0 lost its offsets 3 to 8"
    ]


def test_offsets_that_a_transaction_holds_back_are_not_lost(history: Any, backend: Backend, read: Any) -> None:
    topic = history.topic()
    history.leave_open(topic, [b"a", b"b"])

    with pytest.raises(ReadStalledError):
        read(whole(backend, topic, 9), fail=False, stall_timeout=1.0)


def test_a_topic_deleted_since_the_plan_is_left_out(history: Any, backend: Backend, read: Any, caplog: Any) -> None:
    """Or fails the read, unless `failOnDataLoss` is false."""
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])
    split = whole(backend, topic, 3)
    history.delete(topic)

    with pytest.raises(DamagedDataError, match=f"{topic}-0 lost its records from offset 0 on: it does not exist"):
        read(split, stall_timeout=1.0)
    assert read(split, fail=False, stall_timeout=1.0) == []
    assert any("nothing is left to read" in message for message in caplog.messages)


class Interrupted:
    """A reader whose log loses records in the middle of a read."""

    error: Exception | None = DamagedDataError("offset 1 is not there")

    def __init__(self, reader: IsolationReader, interrupt: Callable[[], None]) -> None:
        self._reader, self._interrupt, self._reads = reader, interrupt, 0

    def read(self, ranges: Any, stall_timeout: float) -> Iterator[Any]:
        self._reads += 1
        if self._reads > 1:
            yield from self._reader.read(ranges, stall_timeout)
            return
        [only] = ranges
        yield LogBatch(only.topic, only.partition, [0], [None], [b"a"], [0])
        self._interrupt()
        if self.error is not None:
            raise self.error


def test_records_deleted_during_a_read_are_not_read_twice(
    history: Any, backend: Backend, reader: IsolationReader
) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"b", b"c", b"d"])
    broken: Any = Interrupted(reader, lambda: history.delete_before(topic, 3))

    shown = over(broken, backend, fail=False).read([whole(backend, topic, 4)], WAIT)

    assert [value for batch in shown for value in batch.values] == [b"a", b"d"]


def test_another_damage_is_no_loss_and_is_raised(history: Any, backend: Backend, reader: IsolationReader) -> None:
    """With `failOnDataLoss` false, too: records that cannot be read are still there."""
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])
    broken: Any = Interrupted(reader, lambda: None)

    with pytest.raises(DamagedDataError, match="offset 1 is not there"):
        list(over(broken, backend, fail=False).read([whole(backend, topic, 3)], WAIT))


@pytest.mark.parametrize(("strict", "error"), [({"fail": True}, DamagedDataError), ({"fail": False}, RetriableError)])
def test_a_topic_created_again_during_a_read_fails_it(
    history: Any, backend: Backend, reader: IsolationReader, strict: dict[str, bool], error: type[Exception]
) -> None:
    """Where a loss is accepted, too: nobody can tell which of the records are of the new topic."""
    topic = history.topic()
    history.commit(topic, [b"a"])
    broken: Any = Interrupted(reader, lambda: history.create_again(topic))
    broken.error = None

    with pytest.raises(error, match=f"{topic}-0 .*created again"):
        list(over(broken, backend, **strict).read([whole(backend, topic, 1)], WAIT))


# --- what is planned


@pytest.fixture
def plan(backend: Backend, reader: IsolationReader) -> Callable[..., dict[TopicPartition, OffsetRange]]:
    def of(**options: str) -> Any:
        given = {"kafka.bootstrap.servers": "h:1", **options}
        return plan_ranges(parse(given), reader, backend.admin())[0]

    return of


def test_deleted_records_fail_a_plan(history: Any, plan: Any, caplog: Any) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"b", b"c"])
    history.delete_before(topic, 2)
    one, given = TopicPartition(topic, 0), {"startingOffsets": f'{{"{topic}":{{"0":1}}}}'}

    with pytest.raises(DamagedDataError, match=f"{topic}-0 lost its offset 1: retention or DeleteRecords"):
        plan(subscribe=topic, **given)
    assert plan(subscribe=topic, failOnDataLoss="false", **given) == {one: OffsetRange(2, 4)}
    assert len(caplog.messages) == 1
    assert plan(subscribe=topic) == {one: OffsetRange(2, 4)}, "earliest is what there is"


def test_a_topic_created_again_after_a_plan_of_given_offsets_is_noticed_by_its_id(history: Any) -> None:
    """A step gives all offsets; the new topic has as many records as the old one, or more."""
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])
    limits = [json.dumps({topic: {"0": offset}}) for offset in (0, 2)]
    given = {"assign": json.dumps({topic: [0]}), "startingOffsets": limits[0], "endingOffsets": limits[1]}
    reader = EosfwReader(parse({"kafka.bootstrap.servers": history.servers, **given}))
    (planned,) = reader.partitions()
    assert sum(each.num_rows for each in reader.read(planned)) == 2
    history.create_again(topic, b"c", b"d", b"e")

    with pytest.raises(DamagedDataError, match=f"{topic}-0 lost its records from offset 0 on: .* created again"):
        list(reader.read(planned))
