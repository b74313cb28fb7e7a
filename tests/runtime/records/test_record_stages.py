"""Records are transformed and converted between poll and send; what cannot be is dropped or fails the task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from eosfw.config import ConfigDef, String
from eosfw.errors import RetriableError
from eosfw.records import ProducerBatch, SourceBatch, SourceRecord
from eosfw.runtime.status import TaskState

from ..scripted_task import OFFSETS, batch, connector_of, failure, record, run, scripted
from ..worker_harness import WorkerHarness


class EvenNumbers:
    """Chooses even numbers, record by record."""

    name = "even"

    def test(self, record: SourceRecord) -> bool:
        return int(record.value) % 2 == 0


class EvenColumns(EvenNumbers):
    """Chooses even numbers, by columns."""

    name = "even columns"

    def test_batch(self, batch: ProducerBatch) -> list[bool]:
        return [int(value or b"") % 2 == 0 for value in batch.values]


class Routed:
    """Sends records to a topic named after their last digit."""

    name = "routed"
    config: ClassVar = ConfigDef(String("prefix", "t-"))

    def configure(self, config: Any) -> None:
        self.prefix = config["prefix"]

    def apply(self, record: SourceRecord) -> SourceRecord:
        return replace(record, topic=f"{self.prefix}{int(record.value) % 2}")


class Failing:
    """Fails for the number 2, as long as its list of errors lasts."""

    name = "failing"
    errors: ClassVar[list[Exception]] = []
    closed: ClassVar[list[str]] = []

    def apply(self, record: SourceRecord) -> SourceRecord:
        if record.value == b"2" and self.errors:
            raise self.errors.pop()
        return record

    def close(self) -> None:
        self.closed.append(self.name)


def failing(*errors: Exception) -> type[Failing]:
    return type("Fails", (Failing,), {"errors": list(errors), "closed": []})


DROP_EVEN = {
    "transforms": "drop",
    "transforms_drop_type": "Filter",
    "transforms_drop_predicate": "even",
    "predicates": "even",
}
FAIL = {"transforms": "f", "transforms_f_type": "failing"}


def test_blanks_around_the_names_of_parts_do_not_count():
    """PLG-30: as files of properties have them, at the ends of their lines."""
    drop = DROP_EVEN | {"predicates_even_type": "TopicNameMatches", "predicates_even_pattern": "t"}
    properties = {**drop, "transforms_drop_negate": "true", "value_converter": "string"}
    padded = {name: f" {text}\t" for name, text in properties.items()}

    stage = run(scripted(batch(0, 4)), worker={"key.converter": " string "}, **padded)

    assert stage.cluster.committed("t") == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("kind", [EvenNumbers, EvenColumns])
@pytest.mark.parametrize("polled", [[record(n) for n in range(4)], batch(0, 4)], ids=["records", "columns"])
@pytest.mark.parametrize(("negate", "left"), [("false", [b"1", b"3"]), ("true", [b"0", b"2"])], ids=["", "negated"])
def test_a_filter_drops_what_its_predicate_chooses(kind, polled, negate, left):
    """TXN-04: and the offset after the last record commits."""
    more = {"transforms_drop_negate": negate, "predicates_even_type": kind.name}
    stage = run(scripted(polled), parts=[kind], **DROP_EVEN, **more)

    assert stage.cluster.committed("t") == left
    assert stage.cluster.committed("g-offsets") == [b'{"o":4}']
    (task,) = stage.worker.status().tasks
    assert (task.error_handling.records_filtered, task.error_handling.records_skipped) == (2, 0)


def test_a_filter_without_predicate_leaves_offsets_alone():
    """TXN-04: in a transaction that holds nothing else."""
    stage = run(scripted(batch(0, 4)), transforms="drop", transforms_drop_type="Filter")

    assert stage.cluster.calls[1:-1] == ["begin", OFFSETS, "commit"]
    assert stage.worker.status().records == 0


@pytest.mark.parametrize("polled", [[record(n) for n in range(4)], batch(0, 4)], ids=["records", "columns"])
def test_records_may_go_to_several_topics_in_one_transaction(polled):
    stage = run(scripted(polled), parts=[Routed], transforms="r", transforms_r_type="routed", transforms_r_prefix="x")

    assert (stage.cluster.committed("x0"), stage.cluster.committed("x1")) == ([b"0", b"2"], [b"1", b"3"])
    assert stage.cluster.calls.count("commit") == 1
    assert stage.cluster.committed("g-offsets") == [b'{"o":4}']


@pytest.mark.parametrize("kind", [EvenNumbers, EvenColumns])
def test_a_renamed_topic_of_some_records_keeps_their_order(kind):
    """By columns the records of both kinds would change places."""
    route = {"transforms_r_type": "RegexRouter", "transforms_r_regex": "t", "transforms_r_replacement": "u"}
    more = {"transforms_r_predicate": "even", "predicates": "even", "predicates_even_type": kind.name}
    heard: list[Any] = []
    task = scripted(
        [record(n) for n in range(4)],
        commit_record=lambda _, one, metadata: heard.append((one.value, one.topic, metadata.topic)),
    )
    run(task, parts=[kind], transforms="r", **route, **more)

    assert heard == [(b"0", "t", "u"), (b"1", "t", "t"), (b"2", "t", "u"), (b"3", "t", "t")]


def test_transformations_apply_in_their_order():
    route = {f"transforms_{one}_type": "RegexRouter" for one in "ab"}
    route |= {
        "transforms_a_regex": "t",
        "transforms_a_replacement": "mid",
        "transforms_b_regex": "(m)id",
        "transforms_b_replacement": "$1",
    }
    stage = run(scripted(batch(0)), transforms="a,b", **route)

    assert stage.cluster.committed("m") == [b"0", b"1"]


def test_commit_record_hears_of_the_record_that_poll_returned():
    """TXN-04: not of what transformations made of it; a dropped one has no place."""
    polled = [record(1), record(2)]
    heard: list[Any] = []
    task = scripted(polled, commit_record=lambda _, one, metadata: heard.append((one, metadata and metadata.offset)))
    run(task, parts=[EvenNumbers], predicates_even_type="even", **DROP_EVEN)

    assert [(one is own, at) for (one, at), own in zip(heard, polled, strict=True)] == [(True, 0), (True, None)]


class Picky:
    """Converts nothing."""

    name = "picky"

    def from_connect_data(self, topic: str, value: Any) -> bytes:
        raise ValueError("no such value")


def test_the_log_says_which_record_failed_and_never_what_it_holds(caplog):
    """TPC-12: partition, types and names of headers; Kafka Connect logs keys, values and headers as well."""
    polled = SourceRecord("t", {"pin": 4711}, "me", {"p": "a"}, {"o": 1}, partition=0, headers=[("trace", "4712")])
    log = {"errors_log_enable": "true", "errors_log_include_messages": "true", "value_converter": "picky"}
    stage = run(scripted([polled]), parts=[Picky], errors_tolerance="all", **log)

    assert not stage.worker.status().failures
    (line,) = [one for one in caplog.records if "Error encountered" in one.message]
    assert line.message.endswith("source offset {'o': 1}, key str, value dict, partition 0, headers trace}.")
    assert "4711" not in caplog.text
    assert "4712" not in caplog.text


@pytest.mark.parametrize("messages", ["false", "true"])
def test_a_tolerated_failure_drops_the_record_and_commits_its_offset(caplog, messages):
    """TXN-04, U24: the notice says how many were dropped; the log names no data unless that is asked for."""
    kind = failing(ValueError("secret"))
    log = {"errors_log_enable": "true", "errors_log_include_messages": messages}
    stage = run(scripted([record(1)], [record(2, timestamp=9)]), parts=[kind], errors_tolerance="all", **log, **FAIL)

    assert stage.cluster.committed("t") == [b"1"]
    assert stage.cluster.committed("g-offsets") == [b'{"o":2}', b'{"o":3}']
    (task,) = stage.worker.status().tasks
    metrics = task.error_handling
    assert (metrics.record_failures, metrics.errors, metrics.records_skipped, metrics.errors_logged) == (1, 1, 1, 1)
    assert metrics.last_error is not None
    (line,) = [one for one in caplog.records if "Error encountered" in one.message]
    assert line.message.startswith("Error encountered in task c-0. Executing stage 'TRANSFORMATION' with class ")
    place = "{topic 't', source partition {'p': 'a'}, source offset {'o': 3}, timestamp 9, key null, value bytes}"
    assert (f"where source record is = {place}" in line.message) is (messages == "true")
    assert [notice.count for notice in task.notices if notice.kind == "records dropped"] == [1]


def test_a_failure_that_is_not_tolerated_fails_the_task():
    """By default; nothing of its transaction is committed, and the part is closed."""
    kind = failing(ValueError("no such thing"))
    stage = run(scripted([record(1), record(2)]), parts=[kind], **FAIL)

    message = failure(stage)
    assert (
        "task c-0: transformation 'f' (failing) failed for a record (topic 't', source partition {'p': 'a'}" in message
    )
    assert "source offset {'o': 3}): ValueError: no such thing" in message
    assert "errors.tolerance=all" in message
    assert stage.cluster.committed("t") == []
    assert kind.closed


@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_a_passing_failure_is_tried_again_within_its_time(tolerance):
    kind = failing(RetriableError("busy"), RetriableError("busy"))
    times = {"errors_retry_timeout": "60000", "errors_retry_delay_max_ms": "1"}
    stage = run(scripted([record(1), record(2)]), parts=[kind], errors_tolerance=tolerance, **times, **FAIL)

    assert stage.cluster.committed("t") == [b"1", b"2"]
    (task,) = stage.worker.status().tasks
    assert (task.error_handling.retries, task.error_handling.record_failures, task.error_handling.errors) == (2, 2, 0)


def test_a_passing_failure_without_time_to_retry_fails_the_task():
    """Kafka Connect would drop the record, whatever `errors.tolerance` says."""
    stage = run(scripted([record(2)]), parts=[failing(RetriableError("busy"))], **FAIL)

    assert "busy; restart the task once that is over, or have it try again for longer with errors" in failure(stage)


def test_a_stop_during_retries_leaves_the_record_for_the_next_run():
    """Dropped, it would be lost: its offset would commit."""
    kind = failing(*[RetriableError("busy")] * 10_000)
    with WorkerHarness(connector_of(scripted([record(1)], [record(2)])), parts=[kind]) as stage:
        stage.put("c", errors_retry_timeout="-1", errors_tolerance="all", **FAIL)
        stage.until(lambda: stage.worker.status().tasks[0].error_handling.record_failures > 0, "a failure")
        stage.worker.stop(20.0)
        (task,) = stage.worker.status().tasks

    assert task.state is TaskState.STOPPED, task.error
    assert stage.cluster.committed("t") == [b"1"]
    assert stage.cluster.committed("g-offsets") == [b'{"o":2}']


def test_converters_turn_keys_values_and_headers_into_bytes():
    one = SourceRecord("t", {"id": 1}, 7, {"p": "a"}, {"o": 1}, headers=(("h", 2.5),))
    more = {"value_converter": "json", "value_converter_schemas_enable": "false", "key_converter": "string"}
    stage = run(scripted([one]), header_converter="json", **more)

    (entry,) = [entry for where, log in stage.cluster.logs.items() if where.topic == "t" for entry in log]
    assert (entry.value, entry.key) == (b'{"id":1}', b"7")
    assert entry.headers == (("h", b'{"schema":null,"payload":2.5}'),)


def test_a_connectors_converter_replaces_that_of_its_worker():
    """With all of its properties: those of the worker are for the worker's."""
    one = SourceBatch("t", [{"id": 1}], {"p": "a"}, {"o": 1})
    worker = {"value_converter": "json", "value_converter_schemas_enable": "false"}
    for own, wanted in ({}, b'{"id":1}'), ({"value_converter": "json"}, b'{"schema":null,"payload":{"id":1}}'):
        with WorkerHarness(connector_of(scripted(one)), **worker) as stage:
            stage.put("c", **own)
            stage.until_drained()
        assert stage.cluster.committed("t") == [wanted]


@pytest.mark.parametrize("as_columns", [False, True], ids=["records", "columns"])
def test_records_that_cannot_be_converted_are_dropped_if_tolerated(as_columns):
    values = [{"n": 1}, {"n": object()}, {"n": 3}]
    records = [SourceRecord("t", value, None, {"p": "a"}, {"o": at + 1}) for at, value in enumerate(values)]
    polled = SourceBatch("t", values, {"p": "a"}, {"o": 3}) if as_columns else records
    json = {"value_converter": "json", "value_converter_schemas_enable": "false"}
    stage = run(scripted(polled), errors_tolerance="all", **json)

    assert stage.cluster.committed("t") == [b'{"n":1}', b'{"n":3}']
    assert stage.cluster.committed("g-offsets") == [b'{"o":3}']
    assert stage.worker.status().tasks[0].error_handling.records_skipped == 1


class Nowhere:
    """Makes records for a topic without a name."""

    name = "nowhere"

    def apply(self, record: SourceRecord) -> SourceRecord:
        return replace(record, topic="")


class Losing:
    """Loses a record of each batch: with its offset it would be lost for good."""

    name = "losing"

    def apply(self, record: SourceRecord) -> SourceRecord:
        return record

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch:
        return replace(batch, values=batch.values[1:])


def odd(value: Any) -> list[SourceRecord]:
    return [SourceRecord("t", value, None, {"p": "a"}, {"o": 1})]


WRONG = {
    "no JSON": (
        odd({"a": [{"b": object()}]}),
        {"value_converter": "json"},
        "'json' failed for a record (topic 't', source partition {'p': 'a'}, source offset {'o': 1}): field 'a.0.b' is",
    ),
    "no converter": (
        odd({"a": 1}),
        {"key_converter": "string"},
        "it is a dict; only bytes and None can be sent: choose a value.converter, such as json",
    ),
    "no topic": (
        [record(1)],
        {"transforms": "n", "transforms_n_type": "nowhere"},
        "task c-0: a record that transformations made names no topic ('')",
    ),
    "lost records": (
        batch(0),
        {"transforms": "n", "transforms_n_type": "losing"},
        "transformation 'n' (losing) made 1 of 2 records",
    ),
}


@pytest.mark.parametrize(("polled", "properties", "message"), WRONG.values(), ids=WRONG)
def test_the_error_names_record_field_and_what_to_change(polled, properties, message):
    assert message in failure(run(scripted(polled), parts=[Nowhere, Losing], **properties))


@pytest.mark.parametrize("kind", [EvenNumbers, EvenColumns])
def test_a_connector_may_end_a_transaction_behind_a_filtered_record(kind):
    """TXN-04: by the object that poll returns, whatever becomes of it."""

    def ask(context: Any) -> list[SourceRecord]:
        records = [record(number) for number in range(5)]
        context.transaction.commit_record(records[2])
        context.transaction.commit()
        return records

    drop = {"predicates_even_type": kind.name, "value_converter": "bytes", **DROP_EVEN}
    stage = run(scripted(ask), parts=[kind], transaction_boundary="connector", **drop)

    one = ["begin", "send t", OFFSETS, "commit"]
    assert stage.cluster.calls[1:-1] == [*one, *one]
    assert stage.cluster.committed("t") == [b"1", b"3"]
    assert stage.cluster.committed("g-offsets") == [b'{"o":3}', b'{"o":5}']


def test_a_connector_may_abort_a_filtered_record():
    """BND-03: what was kept before it is discarded with it, and not read again."""

    def ask(context: Any) -> list[SourceRecord]:
        records = [record(number) for number in range(4)]
        context.transaction.abort_record(records[2])
        context.transaction.commit()
        return records

    drop = {"predicates_even_type": "even columns", **DROP_EVEN}
    stage = run(scripted(ask), parts=[EvenColumns], transaction_boundary="connector", **drop)

    assert stage.cluster.committed("t") == [b"3"]
    assert stage.cluster.committed("g-offsets") == [b'{"o":3}', b'{"o":4}']


def test_a_pause_during_retries_waits_for_the_record():
    """TXN-12: a record in hand is neither dropped nor read again because of a pause."""
    kind = failing(*[RetriableError("busy")] * 3)
    with WorkerHarness(connector_of(scripted([record(1)], [record(2)])), parts=[kind]) as stage:
        stage.put("c", errors_retry_timeout="-1", errors_retry_delay_max_ms="50", errors_tolerance="all", **FAIL)
        stage.until(lambda: stage.worker.status().tasks[0].error_handling.record_failures > 0, "a failure")
        stage.worker.pause_connector("c")
        stage.until(lambda: stage.cluster.committed("t") == [b"1", b"2"], "the record in hand")
        stage.until(lambda: stage.worker.status().tasks[0].state is TaskState.PAUSED, "the pause")
        assert stage.worker.status().tasks[0].error_handling.records_skipped == 0
