"""A read waits for the open transactions in its way, and names them if they stay."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ReadStalledError
from eosfw.ids import TopicPartition
from eosfw.pipeline import LocalRun, Pipeline, RunControl
from eosfw.pipeline.lso_wait import committed_ranges
from eosfw.protocols import NewTopic, TransactionalProducer
from eosfw.records import ProducerRecord
from eosfw.registry import Plugins

Make = Callable[..., Pipeline]


def with_open_transaction(local: LocalRun, transactional_id: str, topic: str) -> TransactionalProducer:
    writer = local.backend.producer(transactional_id, transaction_timeout=60.0)
    writer.init_transactions(10)
    writer.begin_transaction()
    writer.send(ProducerRecord(topic, b"open"))
    writer.flush(10)
    return writer


def test_an_open_transaction_in_the_way_is_named(pipeline: Make, plugins: Plugins) -> None:
    """By topic, partition, offset and transactional id: what is needed to end it."""
    runtime = ThreadRuntime()
    flow = replace(pipeline(), cluster=replace(pipeline().cluster, properties={}))
    with LocalRun(flow, plugins, runtime) as local:
        admin = local.backend.admin()
        admin.create_topics([NewTopic("held")])
        writer = with_open_transaction(local, "somebody-else-0", "held")

        with pytest.raises(ReadStalledError) as reported:
            committed_ranges(local, ["held"], RunControl(runtime), timeout=0.5)
        writer.close()
        admin.close()

    assert "topic 'held', partition 0: held back at offset 0 of 1" in str(reported.value)
    assert "transactional id 'somebody-else-0'" in str(reported.value)


def test_of_several_open_transactions_the_one_that_began_first_is_named(pipeline: Make, plugins: Plugins) -> None:
    """Whoever ends another one waits as long as before."""
    runtime = ThreadRuntime()
    flow = replace(pipeline(), cluster=replace(pipeline().cluster, properties={}))
    with LocalRun(flow, plugins, runtime) as local, ExitStack() as opened:
        admin = opened.enter_context(closing(local.backend.admin()))
        admin.create_topics([NewTopic("held")])
        for name in ("in-the-way", "later"):
            opened.enter_context(closing(with_open_transaction(local, name, "held")))

        with pytest.raises(ReadStalledError) as reported:
            committed_ranges(local, ["held"], RunControl(runtime), timeout=0.5)

    assert "held back at offset 0 of 2 by transactional id 'in-the-way'" in str(reported.value)


def test_a_read_waits_until_the_transaction_in_the_way_ends(pipeline: Make, plugins: Plugins) -> None:
    """An answer without the records that it commits would be too short."""
    runtime = ThreadRuntime()
    with LocalRun(pipeline(), plugins, runtime) as local:
        topic = pipeline().connectors["c"]["topic"]
        admin = local.backend.admin()
        admin.create_topics([NewTopic(topic)])
        writer = with_open_transaction(local, f"{topic}-writer", topic)
        control = RunControl(runtime)

        def end() -> None:
            runtime.sleep(0.5)
            writer.commit_transaction(10)

        ending = runtime.spawn("ending", end)
        ranges = committed_ranges(local, [topic], control, timeout=20)
        assert ending.join(10)
        writer.close()
        admin.close()

    assert ranges[TopicPartition(topic, 0)].end == 2
