"""`eosfw connectors` speaks Kafka Connect's REST interface; here with a worker that answers from a table."""

from __future__ import annotations

import io
import json
import socket

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ExitCode

STATUS = {
    "name": "orders",
    "connector": {"state": "RUNNING", "worker_id": "127.0.0.1:8083"},
    "tasks": [
        {"id": 10, "state": "RUNNING", "worker_id": "127.0.0.1:8083"},
        {"id": 2, "state": "FAILED", "worker_id": "127.0.0.1:8084", "trace": "TaskFailedError: no table\n  at x"},
    ],
    "type": "source",
}
OFFSETS = {"offsets": [{"partition": {"file": "a"}, "offset": {"position": 3}}]}


def test_a_reason_is_the_error_and_no_place_in_the_code(command, worker) -> None:
    """A worker of eosfw reports traces of Python, Kafka Connect those of Java: one ends, one begins with the error."""
    trace = 'Traceback (most recent call last):\n  File "x", line 1\neosfw.errors.TaskFailedError: no table\n'
    task = {"id": 0, "state": "FAILED", "worker_id": "h:1", "trace": trace}
    worker.answers["GET /connectors/orders/status"] = 200, {**STATUS, "tasks": [task, *STATUS["tasks"]]}

    run = command("connectors", "status", "orders")

    assert run.end() == 1
    assert "eosfw.errors.TaskFailedError: no table" in run.out()
    assert "FAILED   127.0.0.1:8084  TaskFailedError: no table" in run.out()
    assert "Traceback" not in run.out()


def test_list_shows_states_of_connectors_and_counts_of_tasks(command, worker) -> None:
    worker.answers["GET /connectors?expand=status"] = 200, {"orders": {"status": STATUS}}

    run = command("connectors", "list", "--json")

    assert run.end() == 0, run.err()
    assert json.loads(run.out()) == {
        "connectors": [
            {
                "connector": "orders",
                "type": "source",
                "state": "RUNNING",
                "tasks": ["1 FAILED", "1 RUNNING"],
                "worker": "127.0.0.1:8083",
            }
        ]
    }


def test_status_orders_tasks_by_number_and_shows_reasons(command, worker) -> None:
    worker.answers["GET /connectors/orders/status"] = 200, STATUS

    run = command("connectors", "status", "orders")

    assert run.end() == ExitCode.VERDICT_FAILED
    lines = run.out().splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["orders", "orders-2", "orders-10"]
    assert lines[2].endswith("TaskFailedError: no table")


@pytest.mark.parametrize(
    ("words", "request_line"),
    [
        (["pause", "orders"], "PUT /connectors/orders/pause"),
        (["resume", "orders"], "PUT /connectors/orders/resume"),
        (["stop", "orders"], "PUT /connectors/orders/stop"),
        (["delete", "orders"], "DELETE /connectors/orders"),
        (["restart", "orders"], "POST /connectors/orders/restart?includeTasks=false&onlyFailed=false"),
        (
            ["restart", "orders", "--tasks", "--only-failed"],
            "POST /connectors/orders/restart?includeTasks=true&onlyFailed=true",
        ),
        (["restart", "orders", "--task", "2"], "POST /connectors/orders/tasks/2/restart"),
        (["pause", "a/b ä"], "PUT /connectors/a%2Fb%20%C3%A4/pause"),
    ],
)
def test_each_change_is_one_request_of_kafka_connect(command, worker, words, request_line) -> None:
    worker.answers[request_line] = 202, None

    run = command("connectors", *words)

    assert run.end() == 0, run.err()
    assert worker.asked == [(request_line, None)]


def test_create_sends_name_properties_and_initial_state(command, worker, tmp_path) -> None:
    worker.answers["POST /connectors"] = 201, {}
    file = tmp_path / "orders.json"
    file.write_text(json.dumps({"name": "orders", "config": {"connector.class": "file"}}))

    run = command("connectors", "create", str(file), "--initial-state", "STOPPED")

    assert (run.end(), run.out()) == (0, "orders\n"), run.err()
    body = {"name": "orders", "config": {"connector.class": "file"}, "initial_state": "STOPPED"}
    assert worker.asked == [("POST /connectors", body)]


def test_create_with_replace_puts_the_properties(command, worker, tmp_path) -> None:
    worker.answers["PUT /connectors/orders/config"] = 200, {}
    file = tmp_path / "orders.json"
    file.write_text(json.dumps({"name": "orders", "connector.class": "file"}))

    assert command("connectors", "create", str(file), "--replace").end() == 0
    assert worker.asked == [("PUT /connectors/orders/config", {"name": "orders", "connector.class": "file"})]


def test_stdin_may_begin_with_a_byte_order_mark_as_a_file_may(command, worker, tmp_path, monkeypatch) -> None:
    """PowerShell writes one into files and pipes."""
    worker.answers["POST /connectors"] = 201, {"name": "orders"}
    text = "\ufeff" + json.dumps({"name": "orders", "config": {"connector.class": "file"}})
    (tmp_path / "orders.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))

    ended = [command("connectors", "create", file) for file in (tmp_path / "orders.json", "-")]
    assert [(run.end(), run.err()) for run in ended] == [(0, ""), (0, "")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is not JSON"),
        ("[1]", "it is not a JSON object"),
        ('{"config": {}}', "it names no connector"),
        ('{"name": "a", "config": 3}', "`config` is not an object"),
        ("[" * 100_000, "it is not JSON"),
    ],
)
def test_a_bad_file_is_named_and_nothing_is_sent(command, worker, tmp_path, text, message) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)

    run = command("connectors", "create", str(file))

    assert run.end() == ExitCode.CONFIGURATION
    assert message in run.err()
    assert str(file) in run.err()
    assert worker.asked == []


def test_offsets_set_shows_the_difference_before_it_changes(command, worker, tmp_path) -> None:
    wanted = {"offsets": [{"partition": {"file": "a"}, "offset": {"position": 9}}]}
    worker.answers["GET /connectors/orders/offsets"] = 200, OFFSETS
    worker.answers["PATCH /connectors/orders/offsets"] = 200, {"message": "The offsets were altered"}
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps(wanted))

    run = command("connectors", "offsets", "set", "orders", str(file))

    assert run.end() == 0, run.err()
    assert run.out().splitlines()[1].split("  ") == ['{"file": "a"}', '{"position": 3}', '{"position": 9}']
    assert "The offsets were altered" in run.err()
    assert worker.asked[1:] == [("PATCH /connectors/orders/offsets", wanted)]


@pytest.mark.parametrize("verb", ["set", "reset"])
def test_a_dry_run_changes_no_offset(command, worker, tmp_path, verb) -> None:
    worker.answers["GET /connectors/orders/offsets"] = 200, OFFSETS
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"offsets": [{"partition": {"file": "a"}, "offset": None}]}))
    words = ["orders", str(file)] if verb == "set" else ["orders"]

    run = command("connectors", "offsets", verb, *words, "--dry-run")

    assert run.end() == 0, run.err()
    assert '{"position": 3}' in run.out()
    assert "nothing was done" in run.err()
    assert [request for request, _ in worker.asked] == ["GET /connectors/orders/offsets"]


def test_offsets_reset_is_sent_even_with_nothing_stored(command, worker) -> None:
    worker.answers["GET /connectors/orders/offsets"] = 200, {"offsets": []}
    worker.answers["DELETE /connectors/orders/offsets"] = 200, {"message": "done"}

    assert command("connectors", "offsets", "reset", "orders").end() == 0
    assert worker.asked[-1] == ("DELETE /connectors/orders/offsets", None)


def test_offsets_shown_as_json_can_be_set_again(command, worker, tmp_path) -> None:
    worker.answers["GET /connectors/orders/offsets"] = 200, OFFSETS
    shown = command("connectors", "offsets", "show", "orders", "--json")
    assert shown.end() == 0
    file = tmp_path / "offsets.json"
    file.write_text(shown.out())

    run = command("connectors", "offsets", "set", "orders", str(file))

    assert run.end() == 0, run.err()
    assert "nothing changes" in run.err()


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (404, "Connector orders not found", ExitCode.CONFIGURATION),
        (409, "Connector orders already exists", ExitCode.CONFIGURATION),
        (409, "Cannot complete request momentarily", ExitCode.UNAVAILABLE),
        (500, "Request timed out", ExitCode.UNAVAILABLE),
        (400, "Bad state", ExitCode.CONFIGURATION),
        (401, "User cannot access the resource.", ExitCode.CONFIGURATION),
        (307, None, ExitCode.CONFIGURATION),
    ],
)
def test_a_refusal_is_one_sentence_and_an_exit_code(command, worker, status, message, code) -> None:
    worker.answers["PUT /connectors/orders/stop"] = status, {"error_code": status, "message": message}

    run = command("connectors", "stop", "orders")

    assert run.end() == code
    assert len(run.err().splitlines()) == 1
    if status in (404, 409, 500, 400):
        assert message in run.err()


def test_credentials_come_from_the_environment_alone(command, worker, monkeypatch) -> None:
    monkeypatch.setenv("EOSFW_REST_USER", "operator")
    monkeypatch.setenv("EOSFW_REST_PASSWORD", "canary")
    worker.answers["PUT /connectors/orders/stop"] = 401, {"message": "denied"}

    run = command("connectors", "stop", "orders")

    run.end()
    assert worker.headers[0]["Authorization"].startswith("Basic ")
    assert "canary" not in run.err() + run.out()
    refused = command("connectors", "stop", "orders", "--url", "http://operator:canary@127.0.0.1:1")
    assert refused.end() == ExitCode.CONFIGURATION
    assert "canary" not in refused.err()


def test_the_line_end_of_a_file_of_a_token_is_no_part_of_it(command, worker, monkeypatch) -> None:
    monkeypatch.setenv("EOSFW_REST_TOKEN", "canary\n")

    command("connectors", "stop", "orders").end()

    assert worker.headers[0]["Authorization"] == "Bearer canary"


@pytest.mark.parametrize("token", ["canary\nx", "canary€", "canary\udcff"])
def test_a_token_that_no_header_can_hold_is_refused_and_not_shown(command, monkeypatch, token) -> None:
    monkeypatch.setenv("EOSFW_REST_TOKEN", token)

    run = command("connectors", "stop", "orders")

    assert run.end() == ExitCode.CONFIGURATION
    assert run.err() == "eosfw: EOSFW_REST_TOKEN: a token is of printable ASCII characters alone\n"


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://h:99999", "http://h:x", "http://h/é", "http://h/\r\nX: y", "http://h/a b", "h:1"]
)
def test_what_no_request_could_be_sent_to_is_no_url(command, url) -> None:
    run = command("connectors", "list", "--url", url)

    assert run.end() == ExitCode.CONFIGURATION
    assert "is no URL such as http://HOST:8083" in run.err()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["stop", "\udcff"], r"'\udcff' is not UTF-8"),
        (["offsets", "show", "\udcff"], r"'\udcff' is not UTF-8"),
        (["list", "--timeout", "nan"], "nan is not between"),
        (["list", "--timeout", "1e300"], "1e+300 is not between"),
    ],
)
def test_a_value_that_no_worker_and_no_clock_takes_is_a_mistake_of_the_caller(command, words, message) -> None:
    run = command("connectors", *words)

    assert run.end() == ExitCode.USAGE
    assert message in run.err()


def test_a_refusal_that_ends_in_its_middle_is_a_refusal(command) -> None:
    """As that of a worker that is killed meanwhile."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(65_536)
                peer.sendall(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 100\r\n\r\nno lead")

        answering = ThreadRuntime().spawn("worker", answer)
        run = command("connectors", "list", "--url", f"http://127.0.0.1:{listener.getsockname()[1]}")

        assert run.end() == ExitCode.UNAVAILABLE
        answering.join()
    assert "the worker failed (500): no lead" in run.err()


def test_a_worker_that_is_not_there_is_named(command) -> None:
    run = command("connectors", "list", "--url", "http://127.0.0.1:1")

    assert run.end() == ExitCode.UNAVAILABLE
    assert "no worker answers at http://127.0.0.1:1" in run.err()


def test_a_url_with_tls_of_a_worker_without_it_is_named(command, worker) -> None:
    run = command("connectors", "list", "--url", worker.url.replace("http:", "https:"))

    assert run.end() == ExitCode.UNAVAILABLE
    assert "does not speak TLS: its URL begins with http://" in run.err()


def test_a_url_without_tls_of_a_worker_with_it_is_named(command) -> None:
    """Such a worker takes the request for a handshake that has failed, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(65_536)

        hanging_up = ThreadRuntime().spawn("worker", hang_up)
        run = command("connectors", "list", "--url", f"http://127.0.0.1:{listener.getsockname()[1]}")

        assert run.end() == ExitCode.UNAVAILABLE
        hanging_up.join()
    assert "if it speaks TLS, its URL begins with https://" in run.err()


@pytest.mark.parametrize(
    ("status", "code"), [(200, ExitCode.OK), (503, ExitCode.UNAVAILABLE), (500, ExitCode.UNAVAILABLE)]
)
def test_health_is_an_exit_code_for_probes(command, worker, status, code) -> None:
    """The message tells the rest; what `/health` answers with 503 is a start that goes on."""
    worker.answers["GET /health"] = status, {"status": "some", "message": "Worker is where it is."}

    run = command("connectors", "health")

    assert run.end() == code
    assert "Worker is where it is." in (run.out() if code == ExitCode.OK else run.err())
