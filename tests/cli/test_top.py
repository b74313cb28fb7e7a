"""`eosfw top` shows what a group does; here of workers that answer from a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.cli.top.counts import Counts, counts_of, rate
from eosfw.cli.top.look import Look
from eosfw.cli.top.screen import screen
from eosfw.errors import ExitCode

METRICS = """\
# TYPE kafka_connect_source_task_source_record_write_total counter
kafka_connect_source_task_source_record_write_total{connector="orders",task="0"} 5.0
kafka_connect_source_task_source_record_write_total{connector="orders",task="1"} 7.0
kafka_connect_source_task_transactions_total{connector="orders",task="0"} 2.0
kafka_connect_source_task_source_record_poll_total{connector="orders",task="0"} 99.0
"""


def status(name: str, state: str = "RUNNING", trace: str | None = None):
    task = {"id": 0, "state": state, "worker_id": "h:1", "trace": trace}
    return {"name": name, "connector": {"state": "RUNNING", "worker_id": "h:1"}, "tasks": [task]}


def group(*urls: str | None):
    workers = [{"worker": f"w{n}", "url": url, "leader": n == 0, "tasks": [1, 2]} for n, url in enumerate(urls)]
    return {"group_id": "shop", "generation": 7, "rebalancing": False, "notice": None, "workers": workers}


TRANSACTION = {
    "transactional_id": "stuck",
    "producer_id": 5,
    "state": "Ongoing",
    "started": 0,
    "partitions": [{"topic": "t", "partition": n} for n in range(5)],
}


@pytest.fixture
def busy(worker):
    """A group of this worker and one that does not answer."""
    worker.answers["GET /group"] = 200, group(worker.url, "http://127.0.0.1:1")
    orders, stuck = (
        status("orders"),
        status("stuck", "FAILED", "Traceback (most recent call last):\n  at x\nDiskFullError: no space\n"),
    )
    worker.answers["GET /connectors?expand=status"] = 200, {"orders": {"status": orders}, "stuck": {"status": stuck}}
    worker.answers["GET /transactions"] = 200, [TRANSACTION]
    worker.answers["GET /metrics"] = 200, METRICS.encode()
    return worker


def test_a_pipe_gets_one_picture_with_rates(command, busy) -> None:
    run = command("top", "--interval", "0.1")

    assert run.end() == ExitCode.OK
    lines = run.out().splitlines()
    assert lines[0] == "shop: generation 7, in balance, 2 connectors"
    found = {line.split()[0]: line.split() for line in lines if line}
    assert found["w0"][-1] == "leads"
    assert found["w1"][-3:] == ["does", "not", "answer"]
    assert found["orders"][1:5] == ["RUNNING", "1", "0", "0"]
    assert ["FAILED", "1", "-", "-", "DiskFullError:", "no", "space"] in [line.split()[1:] for line in lines]
    assert [line.split()[0] for line in lines if "RUNNING" in line or "FAILED" in line] == ["stuck", "orders"]
    assert "t-0, t-1, t-2 and 2 more" in run.out()


def test_credentials_are_sent_to_no_other_host(command, busy, monkeypatch) -> None:
    """Whoever joins a group advertises a URL; this one has another name for the same server."""
    monkeypatch.setenv("EOSFW_REST_TOKEN", "canary")
    busy.answers["GET /group"] = 200, group(busy.url, busy.url.replace("127.0.0.1", "localhost"))

    assert command("top", "--interval", "0.1").end() == ExitCode.OK
    hosts = {"canary" in headers.get("Authorization", ""): headers["Host"].split(":")[0] for headers in busy.headers}
    assert hosts == {True: "127.0.0.1", False: "localhost"}


def test_no_worker_is_said_in_one_sentence(command, monkeypatch) -> None:
    monkeypatch.setenv("EOSFW_REST_URL", "http://127.0.0.1:1")
    run = command("top")

    assert run.end() == ExitCode.UNAVAILABLE
    assert "no worker answers at http://127.0.0.1:1" in run.err()
    assert run.out() == ""


def test_a_client_that_cannot_list_transactions_hides_nothing_else(command, busy) -> None:
    busy.answers["GET /transactions"] = 501, {"error_code": 501, "message": "cannot"}
    run = command("top", "--interval", "0.1")

    assert run.end() == ExitCode.OK
    assert "orders" in run.out()
    assert "OPEN TRANSACTION" not in run.out()


def test_counts_are_those_of_all_tasks_and_workers() -> None:
    assert counts_of([METRICS, METRICS]) == {"orders": Counts(24, 4)}


@given(st.text(st.characters(exclude_categories=["C"])))
def test_a_name_is_read_as_it_was_written(name) -> None:
    written = name.replace("\\", "\\\\").replace('"', '\\"')

    text = f'kafka_connect_source_task_transactions_total{{connector="{written}",task="0"}} 3.0\n'

    assert counts_of([text]) == {name: Counts(0, 3)}


def test_a_restart_has_no_rate() -> None:
    assert rate(10, 4, 2) == 3
    assert rate(1, 4, 2) is None
    assert rate(4, 4, 0) is None


def test_a_terminal_shows_what_it_has_room_for() -> None:
    statuses = [status(f"c{n:03}") for n in range(500)] + [status("zz", "FAILED")]
    now = Look(2.0, 3.0, group("http://w:1"), statuses, [], {}, [])

    *_, connectors, more = screen(now, None, 24)

    assert connectors.row_count == 24 - 9 - 1
    assert next(iter(connectors.columns[0].cells)).plain == "zz"
    assert more.plain == "and 487 more connectors"
