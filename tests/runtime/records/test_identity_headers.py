"""Records carry identity headers if the backend sends them cheaply or the configuration requests them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eosfw.errors import TaskFailedError
from eosfw.identity import IdentityHeaders, identity_headers

from ..fake_cluster import CAPABILITIES, Entry, FakeCluster
from ..scripted_task import OFFSETS, batch, failure, record, run, scripted
from ..worker_harness import WorkerHarness

OFFSET = "eosfw.source.offset"


def carrying() -> FakeCluster:
    """A cluster whose client sends headers in batches."""
    return FakeCluster(capabilities=replace(CAPABILITIES, batch_headers=True))


def entries(stage: WorkerHarness) -> list[Entry]:
    return [entry for place, log in stage.cluster.logs.items() if place.topic == "t" for entry in log]


def offsets(stage: WorkerHarness) -> list[bytes | None]:
    return [dict(entry.headers).get(OFFSET) for entry in entries(stage)]


def test_headers_name_connector_source_partition_and_source_offset():
    """Together they tell a record from every other of its topic; where headers cost much, only on request."""
    columns = batch(0, source_offsets=[{"o": 1}, {"o": 2}])
    silent, asked = run(scripted(columns)), run(scripted(columns), eosfw_identity="headers")

    assert offsets(silent) == [None, None]
    assert offsets(asked) == [b'{"o":1}', b'{"o":2}']
    assert dict(entries(asked)[0].headers) == {
        "eosfw.connector": b"c",
        "eosfw.source.partition": b'{"p":"a"}',
        OFFSET: b'{"o":1}',
    }


def test_a_record_list_is_sent_as_one_batch_with_its_headers():
    """Own headers come first."""
    own = record(1, headers=(("mine", b"x"),))
    stage = run(scripted([record(0), own]), carrying())

    assert "send t 2" in stage.cluster.calls
    assert offsets(stage) == [b'{"o":1}', b'{"o":2}']
    assert entries(stage)[1].headers[0] == ("mine", b"x")


def test_a_batch_keeps_its_own_headers_before_those_of_its_identity():
    """Columns carry what records can; a backend whose batches carry headers gets them without being asked."""
    own = [(("mine", b"0"),), ()]
    plain = run(scripted(batch(0, headers=own)))
    identified = run(scripted(batch(0, headers=own, source_offsets=[{"o": 1}, {"o": 2}])), carrying())

    assert [entry.headers for entry in entries(plain)] == own
    assert [entry.headers[:-3] for entry in entries(identified)] == own
    assert identified.cluster.calls[1:-1] == ["begin", "send t 2", OFFSETS, "commit"]
    assert offsets(identified) == [b'{"o":1}', b'{"o":2}']


@pytest.mark.parametrize("identity", ["none", "value", "field:n"])
def test_a_run_with_another_identity_gets_no_headers(identity: str):
    """Also the explicit identity `none`, which needs no offsets of single records."""
    asked: list[bool] = []
    stage = run(
        scripted(lambda context: asked.append(context.record_offsets), batch(0)), carrying(), eosfw_identity=identity
    )

    assert asked == [False]
    assert [entry.headers for entry in entries(stage)] == [(), ()]


def test_a_batch_that_cannot_tell_its_records_apart_fails_with_the_remedy():
    """Bad input: refused before anything is sent if headers were requested."""
    stage = run(scripted(batch(0)), carrying(), eosfw_identity="headers")

    assert "without `source_offsets`" in failure(stage)
    assert '"eosfw.identity"' in failure(stage)
    assert stage.cluster.calls == ["init", "close"]


def test_a_batch_without_distinct_offsets_gets_no_default_identity_headers():
    """A default refuses nothing; what offsets do tell apart keeps its headers."""
    stage = run(scripted(batch(0), batch(2, source_offsets=[{"o": 3}, {"o": 4}])), carrying())

    assert offsets(stage) == [None, None, b'{"o":3}', b'{"o":4}']


def test_a_source_partition_that_was_changed_in_place_is_encoded_again():
    """A task may go on with the same mapping."""
    headers, partition = IdentityHeaders("c"), {"p": 1}
    before = headers.of(partition, {})
    partition["p"] = 2

    assert headers.of(partition, {}) == identity_headers("c", {"p": 2}, {}) != before


@pytest.mark.parametrize("offset", [{"o": b"x"}, {"o": object()}, None, 5])
def test_an_offset_without_json_form_cannot_identify_a_record(offset: object):
    """Bad input: an error of ours, which names what is wrong."""
    with pytest.raises(TaskFailedError, match="cannot identify a record"):
        IdentityHeaders("c").of({}, offset)  # type: ignore[arg-type]
