"""What tasks of a shared transaction are given: partitions of keys, routes through a shuffle, handles."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pyarrow as pa
import pytest

from eosfw.concurrency import Runtime
from eosfw.errors import StepFailedError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import TransactionHandle
from eosfw_memory.client.producer.partitioner import partition_of
from eosfw_spark.sink.shared.handle_server import HandleAddress, HandleServer, take_handle
from eosfw_spark.sink.shared.key_partitions import key_partitions
from eosfw_spark.sink.shared.routes import routes
from eosfw_spark.sink.shared.task_write import DESTINATION, ROUTE, AssignRows

HANDLES = [
    TransactionHandle("t", ProducerIdAndEpoch(7, 3), 2, writer, frozenset({TopicPartition("topic", writer)}))
    for writer in range(2)
]


@pytest.fixture
def server(runtime: Runtime) -> Iterator[HandleServer]:
    server = HandleServer(HANDLES, "127.0.0.1", runtime)
    yield server
    server.close()


def test_keys_go_where_javas_partitioner_puts_them() -> None:
    """SPK-12: as in Kafka's own tests, and as the partitioner of the client puts keys of all lengths."""
    known = {b"21": 3, b"foobar": 0, b"a-little-bit-long-string": 1, b"abc": 4}
    random = Random(1)
    keys = [None if each % 9 == 0 else random.randbytes(each % 23) for each in range(500)]

    assert key_partitions(pa.array(list(known)), 7).to_pylist() == list(known.values())
    assert key_partitions(pa.array(keys, pa.binary()), 5).to_pylist() == [
        None if key is None else partition_of(key, 5) for key in keys
    ]
    assert key_partitions(pa.array([None, None], pa.binary()), 5).to_pylist() == [None, None]
    assert key_partitions(pa.array([], pa.binary()), 5).to_pylist() == []


def test_routes_lead_where_spark_shuffles_them() -> None:
    """SPK-12: Spark says so by `SELECT min(id) FROM range(400) GROUP BY pmod(hash(cast(id AS int)), n)`."""
    assert [list(routes(count)) for count in (1, 2, 3, 7)] == [[0], [2, 0], [0, 1, 11], [12, 0, 1, 9, 3, 2, 11]]


def test_a_row_goes_the_same_way_when_its_stage_runs_again() -> None:
    """SPK-12: the rows of an earlier stage may come in another order, and be divided otherwise."""
    rows = [{"key": None if each % 2 else b"%d" % each, "value": b"value %d" % each} for each in range(200)]
    again = Random(1).sample(rows, len(rows))
    assign = AssignRows({"key": 0, "value": 1}, "topic", 5, routes(2))

    def assigned(rows: list[dict[str, bytes | None]], size: int) -> list[tuple[bytes, int, int]]:
        schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])
        batches = (pa.RecordBatch.from_pylist(rows[at : at + size], schema) for at in range(0, len(rows), size))
        shown = [row for each in assign(batches) for row in each.to_pylist()]
        return sorted((row["value"], row[DESTINATION], row[ROUTE]) for row in shown)

    assert assigned(rows, 200) == assigned(again, 30)
    assert {destination for _, destination, _ in assigned(rows, 200)} == set(range(5))


def test_a_handle_is_given_to_the_first_attempt_alone(server: HandleServer) -> None:
    """SPK-13: attempts may come at once, and none knows of the others. The same one may ask again."""
    assert take_handle(server.address, 1, 11) == HANDLES[1]
    assert take_handle(server.address, 1, 11) == HANDLES[1]

    with pytest.raises(StepFailedError, match="attempt 12 of writer 1 comes after attempt 11"):
        take_handle(server.address, 1, 12)

    assert server.handles.given == {1}
    assert server.handles.refused is not None


def test_nobody_gets_a_handle_without_the_key_or_behind_the_end(server: HandleServer) -> None:
    """SPK-13: so no attempt begins to write once its transaction may be committed."""
    stranger = HandleAddress(server.address.host, server.address.port, "guessed")
    with pytest.raises(StepFailedError, match="the key is not that of this batch"):
        take_handle(stranger, 0, 1)
    server.close()

    with pytest.raises(StepFailedError, match="gives no handle"):
        take_handle(server.address, 0, 1)
    assert server.handles.given == frozenset()
