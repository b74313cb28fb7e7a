"""The connector under a worker."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from tests.runtime.worker_harness import WorkerHarness

from eosfw.errors import DamagedDataError
from eosfw_http.connector import HttpSourceConnector

from .reading import PAGINGS, properties, reading
from .served_api import Reply, ServedApi, served


@pytest.fixture
def api():
    with served(ServedApi([{"id": one, "changed": one // 3} for one in range(20)])) as one:
        yield one


@pytest.mark.eos_zombie(at="commit", nth=2)
@pytest.mark.parametrize("paging", PAGINGS)
def test_zombies_beside_an_api_that_fails_add_nothing(eos, api, paging):
    """HTP-01: each record comes once, with each way of paging."""
    page = api.answer

    def answer(asked):
        reply = page(asked)
        return Reply(503, {"Retry-After": "0"}) if len(api.asked) % 3 == 1 else reply

    api.answer = answer
    run = eos.run(HttpSourceConnector, properties(api.url, paging) | {"value.converter": "json"})
    assert Counter(json.loads(value)["payload"]["id"] for value in run.values()) == Counter(range(20))


def test_failed_polls_are_visible_in_the_status_and_show_no_secret(api):
    """HTP-06, HTP-09: the task runs on; the status says why it reads nothing, until it does."""
    api.replies = [Reply(503, {"Retry-After": "0"}, "s3cret-token")] * 5
    given = properties(api.url, auth_type="bearer", bearer_token="s3cret-token")
    with WorkerHarness(HttpSourceConnector()) as stage:
        stage.put("c", **(given | {"connector.class": "http", "value.converter": "json"}))
        stage.until(lambda: not api.replies, "the failures")
        stage.until(lambda: len(stage.cluster.committed("t")) == 20, "the records")
        (task,) = stage.worker.status().tasks
    assert str(task.poll_failures) == f"5 polls failed, at last with: {api.url} answered 503 Service Unavailable"
    assert [json.loads(value)["payload"]["id"] for value in stage.cluster.committed("t")] == list(range(20))


ORDER = {
    "type": "struct",
    "optional": False,
    "fields": [
        {"field": "id", "type": "int32", "optional": False},
        {
            "field": "at",
            "type": "int64",
            "optional": True,
            "name": "org.apache.kafka.connect.data.Timestamp",
            "version": 1,
        },
    ],
}


@pytest.mark.parametrize("in_file", [False, True])
def test_records_have_the_schema_that_the_properties_give(eos, api, tmp_path, in_file):
    """HTP-12: and those fields alone that it has."""
    (tmp_path / "order.json").write_text(json.dumps(ORDER))
    place = {"value.schema.file": str(tmp_path / "order.json")} if in_file else {"value.schema": json.dumps(ORDER)}
    api.records = [{"id": 1, "at": 1000, "more": True}, {"id": 2}]
    run = eos.run(HttpSourceConnector, properties(api.url) | place | {"value.converter": "json"})
    values = [json.loads(value) for value in run.values()]
    assert [value["payload"] for value in values] == [{"id": 1, "at": 1000}, {"id": 2, "at": None}]
    assert [one["field"] for one in values[0]["schema"]["fields"]] == ["id", "at"]


def test_a_record_that_does_not_fit_the_schema_is_named_by_its_field(api):
    """HTP-12: without its value; a schema that is none is a problem of its property."""
    api.records = [{"id": "s3cret"}]
    given = properties(api.url, value_schema=json.dumps(ORDER))
    with reading(given) as task, pytest.raises(DamagedDataError, match=r"does not fit value\.schema: .*id") as raised:
        task.poll()
    assert "s3cret" not in str(raised.value)
    for wrong in ({"value.schema": "{"}, {"value.schema": '{"type": "none"}'}, {"value.schema.file": "/no/such/file"}):
        config = HttpSourceConnector.config.parse(properties(api.url) | wrong)
        (problem,) = HttpSourceConnector().problems(config)
        assert str(problem).startswith(next(iter(wrong)))
