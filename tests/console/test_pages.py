"""What pages show of the group, of its connectors and of the transactions of its cluster (UIC-03, UIC-07)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eosfw.observe import worst_state
from eosfw.protocols import RestResponse
from eosfw_console.connector_state import state_sentence
from eosfw_console.pages.group import ROWS, group_page
from eosfw_console.pages.page import PageRequest
from eosfw_console.pages.transactions import end_command, held_partitions, transactions_page
from eosfw_console.templates import duration, rendered_regions
from eosfw_console.throughput import Throughput
from eosfw_console.worker_client import WorkerClient

NOW = 1_000_000.0
TASK = {"connector": "c", "task": 3}
WORKER = {
    "worker": "w-1",
    "url": "http://w-1:8083",
    "leader": True,
    "exactly_once_source_support": "enabled",
    "version": "1",
    "tasks": [TASK],
}
GROUP = {
    "group_id": "g",
    "generation": 7,
    "leader": "w-1",
    "protocol": "sessioned",
    "rebalancing": False,
    "notice": None,
    "workers": [WORKER],
    "moving": [],
}


def status(connector: str = "RUNNING", *tasks: str, name: str = "c", trace: str | None = None) -> dict[str, Any]:
    why = {} if trace is None else {"trace": trace}
    return {
        "name": name,
        "connector": {"state": connector, "worker_id": "h:1", **(why if connector == "FAILED" else {})},
        "tasks": [
            {"id": at, "state": one, "worker_id": "h:1", **(why if one == "FAILED" else {})}
            for at, one in enumerate(tasks)
        ],
    }


def asked(answers: dict[str, Any], **query: str) -> PageRequest:
    """A request to a worker that shows these at these targets."""

    def rest(method: str, target: str, *_: Any, **__: Any) -> RestResponse:
        found = answers[target]
        status = found.get("error_code", 200) if isinstance(found, dict) else 200
        return RestResponse(status, json.dumps(found).encode())

    return PageRequest(WorkerClient(rest, {}), Throughput(lambda: NOW), lambda: NOW, query=query)


TRACE = "Traceback:\n  somewhere\nDiskFullError: no space.\n"


@pytest.mark.parametrize(
    ("shown", "sentence"),
    [
        (status("RUNNING", "RUNNING", "RUNNING"), "It runs, with 2 tasks."),
        (
            status("RUNNING"),
            "It runs, but it has no task: its source has nothing to read, or its tasks are being made.",
        ),
        (
            status("FAILED", trace=TRACE),
            "The connector failed on h:1: DiskFullError: no space. Restart it once the cause is gone.",
        ),
        (
            status("RUNNING", "RUNNING", "FAILED", trace=TRACE),
            "Task 1 failed on h:1: DiskFullError: no space. Restart it once the cause is gone.",
        ),
        (
            status("RUNNING", "FAILED", "FAILED", "FAILED", trace=TRACE),
            "Task 0 failed on h:1: DiskFullError: no space. Restart it once the cause is gone. 2 more tasks failed.",
        ),
        (
            status("RUNNING", "FAILED"),
            "Task 0 failed on h:1: it gave no reason. Restart it once the cause is gone.",
        ),
        (
            status("PAUSED", "PAUSED"),
            "It was paused: its tasks keep their workers and poll nothing. Resume it to go on.",
        ),
        (
            status("STOPPED"),
            "It was stopped: it has no tasks, its offsets stay and can be changed. Resume it to go on from them.",
        ),
        (
            status("RUNNING", "UNASSIGNED", "RUNNING", "UNASSIGNED"),
            "Tasks 0, 2 are without a worker; the group gives them one when it is in balance.",
        ),
    ],
)
def test_the_state_of_a_connector_is_a_sentence_with_the_reason(shown, sentence):
    assert state_sentence(shown) == sentence


def test_a_task_on_its_way_is_the_reason_for_quiet():
    moving = [{"id": {"connector": "c", "task": 1}}, {"id": {"connector": "other", "task": 0}}]

    assert (
        state_sentence(status("RUNNING", "RUNNING", "RUNNING"), moving)
        == "Task 1 is on the way to another worker; the others run."
    )


def test_a_connector_is_as_well_as_the_worst_of_its_tasks():
    assert worst_state(status("RUNNING", "RUNNING", "FAILED")) == "FAILED"
    assert worst_state(status("RUNNING", "UNASSIGNED", "RUNNING")) == "UNASSIGNED"
    assert worst_state(status("RUNNING", "RUNNING")) == "RUNNING"
    assert worst_state(status("NEW_IN_KAFKA_9", "FAILED")) == "NEW_IN_KAFKA_9"


def page_of(count: int, **query: str):
    connectors = {f"c{n:04}": {"status": status(name=f"c{n:04}")} for n in range(count)}
    connectors["zz"] = {"status": status("RUNNING", "FAILED", name="zz")}
    return group_page(asked({"/group": GROUP, "/connectors?expand=status": connectors}, **query)).values


def test_what_failed_comes_first_among_thousands():
    values = page_of(2_000)

    assert [row["name"] for row in values["rows"]][:2] == ["zz", "c0000"]
    assert len(values["rows"]) == ROWS
    assert (values["connector_count"], values["before"], values["after"]) == (2_001, None, ROWS)
    assert values["states"] == [("FAILED", 1), ("RUNNING", 2_000)]


def test_connectors_are_found_by_name_and_state():
    assert [row["name"] for row in page_of(200, name="C019")["rows"]] == [f"c019{n}" for n in range(10)]
    assert [row["name"] for row in page_of(200, state="FAILED")["rows"]] == ["zz"]
    assert page_of(200, name="none")["rows"] == []


@pytest.mark.parametrize(
    ("start", "first"), [("50", "c0049"), ("200", "c0199"), ("201", "zz"), ("-1", "zz"), ("x", "zz")]
)
def test_pages_go_on_where_the_one_before_ended(start, first):
    assert page_of(200, **{"from": start})["rows"][0]["name"] == first


def transaction(name: str | None, *partitions: tuple[str, int, int | None], state: str = "Ongoing") -> dict[str, Any]:
    return {
        "transactional_id": name,
        "state": state,
        "producer_id": 5,
        "producer_epoch": 0,
        "started": 990_000_000,
        "timeout_ms": None if state == "Hanging" else 60_000_000,
        "partitions": [{"topic": t, "partition": p, "start_offset": o} for t, p, o in partitions],
    }


def test_the_transaction_that_began_first_holds_a_partition():
    found = held_partitions(
        [transaction("late", ("t", 0, 20), ("u", 1, None)), transaction("early", ("t", 0, 10), ("t", 2, 5))]
    )

    assert [(one["topic"], one["partition"], one["offset"], one["holder"]) for one in found] == [
        ("t", 0, 10, "early"),
        ("t", 2, 5, "early"),
    ]


def test_a_thousand_open_transactions_make_a_small_page():
    """The first to begin are shown, and in front of them those that nobody will end."""
    many = [transaction(f"g-{'c' * 60}-{n}", ("t" * 60, n, n)) | {"started": 999_000_000 - n} for n in range(1_000)]
    hanging = transaction(None, ("t", 0, 1), state="Hanging") | {"started": 999_999_000}
    page = transactions_page(asked({"/group": GROUP, "/transactions": [*many, hanging]}))
    regions = rendered_regions(page.template, page.regions, page.values)

    assert len(json.dumps(regions)) < 50_000
    assert [one["state"] for one in page.values["transactions"][:2]] == ["Hanging", "Ongoing"]
    assert page.values["transactions"][1]["started"] == page.values["held"][0]["started"] == 999_000_000 - 999
    assert "and 976 more that began later" in regions["open"]
    assert "and 976 more that are held back for less long" in regions["open"]


def test_each_transaction_has_the_command_that_ends_it():
    assert end_command(transaction("it's", ("t", 0, 1))) == """eosfw txn fence 'it'"'"'s'"""
    assert end_command(transaction(None, ("t", 0, 12), state="Hanging")) == "eosfw txn abort t-0 12"
    assert end_command(transaction(None)) is None


def test_a_transaction_is_shown_with_its_task_its_worker_and_its_end():
    page = transactions_page(asked({"/group": GROUP, "/transactions": [transaction("g-c-3", ("t", 0, 1))]}))

    (shown,) = page.values["transactions"]
    assert shown["owner"] == {**TASK, "worker": "w-1"}
    assert shown["age"] == 10_000
    assert shown["left"] == 50_000


def test_a_client_that_cannot_list_transactions_is_said():
    page = transactions_page(
        asked({"/group": GROUP, "/transactions": {"error_code": 501, "message": "this client cannot"}})
    )

    assert page.values["problem"] == "this client cannot"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (7_500, "2 h 5 min"),
        (90_000, "1 d 1 h"),
        (-3, "0 s"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds, text):
    assert duration(seconds) == text
