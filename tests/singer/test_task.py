"""A task runs its tap, commits what it gives, and runs it again."""

from __future__ import annotations

import json
import logging
import stat
import sys
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from eosfw.errors import DamagedDataError, RetriableError, TaskFailedError
from eosfw_singer.position import Position
from eosfw_singer.process import TapProcess

from .reading import properties, reading, rows_file

ROWS = [
    ("orders", 1, "2024-01-01"),
    ("orders", 2, "2024-01-02"),
    ("orders", 3, "2024-01-02"),
    ("items", 1, "2024-01-01"),
]
BOUNDARIES = pytest.mark.parametrize("boundary", ["poll", "connector"])


@pytest.fixture
def rows(tmp_path):
    """The path of the rows that the tiny tap reads."""
    return rows_file(tmp_path / "rows", ROWS)


def script(*messages, **more):
    """The configuration of a tap that writes these messages."""
    return {"script": list(messages), **more}


SCHEMA = {
    "type": "SCHEMA",
    "stream": "s",
    "schema": {"properties": {"id": {"type": "integer"}}},
    "key_properties": ["id"],
}


def row(number, **more):
    return {"type": "RECORD", "stream": "s", "record": {"id": number}, **more}


def state(value):
    return {"type": "STATE", "value": value}


@BOUNDARIES
def test_runs_give_what_is_new(rows, tmp_path, boundary):
    """SNG-02: the tap gives the latest rows again, since its bookmark says `>=`."""
    with reading(properties({"rows": rows}, poll_interval_ms=0), boundary=boundary) as task:
        assert task.run() == [
            ("t-orders", {"id": 1, "at": "2024-01-01", "text": None}),
            ("t-orders", {"id": 2, "at": "2024-01-02", "text": None}),
            ("t-orders", {"id": 3, "at": "2024-01-02", "text": None}),
            ("t-items", {"id": 1, "at": "2024-01-01", "text": None}),
        ]
        rows_file(tmp_path / "rows", [*ROWS, ("orders", 4, "2024-01-02"), ("items", 2, "2024-01-03")])
        assert [row["id"] for _, row in task.run()] == [4, 2]
        offset = task.offset
        assert task.run() == []
        assert task.offset == offset
    with reading(properties({"rows": rows}), offset, boundary=boundary) as task:
        assert task.run() == []


@BOUNDARIES
@pytest.mark.parametrize("behind", range(5))
def test_a_killed_tap_loses_and_repeats_nothing(rows, tmp_path, boundary, behind):
    """SNG-03, SNG-09: what it gave behind its last STATE is not committed, and it is started again, visibly."""
    (tmp_path / "crash").write_text(str(behind))
    config = {"rows": rows, "state_every": 2, "crash_at": str(tmp_path / "crash")}
    given = properties(config, retry_backoff_ms=0, batch_max_rows=1)
    with reading(given, boundary=boundary) as task:
        task.run()
        assert sorted(task.ids) == [1, 1, 2, 3]
        if behind < 4:
            (error,) = task.errors
            assert str(error).startswith("tap.command: python ended by signal 9; what it wrote to stderr is logged ")


def test_a_worker_aborts_what_a_killed_tap_gave(eos, rows, tmp_path):
    """SNG-03: rows that are in the open transaction when their tap is killed; then it goes on."""
    (tmp_path / "crash").write_text("3")
    config = {"rows": rows, "crash_at": str(tmp_path / "crash"), "full": ["orders", "items"]}
    given = properties(config, retry_backoff_ms=0, batch_max_rows=1, transaction_boundary="connector")
    run = eos.run("singer", given | {"key.converter": "json", "value.converter": "json"})

    assert not (tmp_path / "crash").exists()
    assert [len(records) for records in run.transactions()] == [4]
    assert sorted(
        json.loads(value)["payload"]["id"] for topic in run.topics for value in eos.topic(topic).values()
    ) == [1, 1, 2, 3]


def test_a_transaction_ends_at_a_state(tmp_path):
    """SNG-03: with transaction.boundary=connector, whatever batches it comes in."""
    config = script(SCHEMA, *map(row, range(5)), state(1), row(5), row(6), state(2), row(7))
    with reading(properties(config, batch_max_rows=2), boundary="connector") as task:
        task.run()
        assert [[row["id"] for _, row in one] for one in task.transactions if one] == [[0, 1, 2, 3, 4], [5, 6], [7]]


def test_polls_give_several_states_at_once(tmp_path):
    """SNG-03: a transaction costs some milliseconds whatever it holds, and some taps write a STATE for each row."""
    config = script(SCHEMA, *(one for n in range(100) for one in (row(n), state(n))))
    with reading(properties(config, batch_max_rows=1000)) as task:
        task.run()
        assert task.ids == list(range(100))
        assert len(task.transactions) < 50


def test_a_tap_that_fails_again_and_again_fails_the_task():
    """SNG-09: behind `max.retries`; the class of its last exception is told, not the text, which may have values."""
    config = script(exit=3, log="Traceback (most recent call last):\nsome.BadError: the row s3cret")
    with reading(properties(config, max_retries=2, retry_backoff_ms=1500)) as task:
        for _ in range(2):
            with pytest.raises(RetriableError, match=r"ended with status 3 and some\.BadError; .* log") as raised:
                poll_until_error(task)
            assert (raised.value.retry_after, "s3cret" in str(raised.value)) == (1.5, False)
        with pytest.raises(TaskFailedError, match=r"it has failed 3 times in a row \(max\.retries = 2\)"):
            poll_until_error(task)
        assert not task.task.at_end()


def test_a_tap_that_writes_nothing_is_ended():
    """SNG-09: it may wait for what never comes; a task that runs and reads nothing would not be noticed."""
    given = properties({}, tap_idle_timeout_ms=100) | {
        "tap.command": f'{sys.executable} -c "import time; time.sleep(99)"'
    }
    with (
        reading(given) as task,
        pytest.raises(RetriableError, match=r"has written nothing for 0\.1 s, neither rows nor a"),
    ):
        poll_until_error(task)


def poll_until_error(task):
    while True:
        task.task.poll()


@pytest.mark.parametrize(
    ("lines", "properties_", "said"),
    [
        (
            ["s3cret"],
            {},
            r"line 2 of python on stdout \(6 bytes\) is no message of Singer: it is no JSON; have the tap",
        ),
        (['["s3cret"]'], {}, "it is no JSON object with a type"),
        (['{"type": "RECORD", "stream": "s", "record": "s3cret"}'], {}, "RECORD without a stream and a record"),
        (['{"type": "SCHEMA", "stream": "s"}'], {}, "SCHEMA without a stream and a schema"),
        (['{"type": "SCHEMA", "stream": "s", "schema": {}, "key_properties": 5}'], {}, "key_properties is no list"),
        *(
            (
                [json.dumps({"type": "SCHEMA", "stream": "t", "schema": {"properties": properties_}})],
                {"time_precision_mode": "connect"},
                "a SCHEMA of stream 't' that is no JSON Schema",
            )
            for properties_ in (
                ["a"],
                {"a": {"type": 5}},
                {"a": {"anyOf": None}},
                {"a": {"type": "string", "format": []}},
            )
        ),
        (['{"type": "STATE"}'], {}, "STATE without a value"),
        (['{"type": "ACTIVATE_VERSION", "stream": "s"}'], {}, "ACTIVATE_VERSION without"),
        (
            ["s3cret" * 100],
            {"line_max_bytes": 500},
            "python wrote a line of more than 500 bytes to stdout: set line.max.by",
        ),
    ],
)
@BOUNDARIES
def test_what_is_no_message_fails_the_task_without_being_shown(lines, properties_, said, boundary):
    """SNG-08: it may have values of rows."""
    config = script(SCHEMA, *lines)
    with reading(properties(config, **properties_), boundary=boundary) as task:
        with pytest.raises(DamagedDataError, match=said) as raised:
            task.run()
        assert "s3cret" not in str(raised.value)


def test_what_is_no_message_can_be_skipped():
    """SNG-08: it is counted."""
    with reading(properties(script(SCHEMA, "hello", row(1), "", "world"), malformed="skip")) as task:
        task.run()
        assert task.ids == [1]
        kinds = [kind for kind, _, _ in task.context.notices]
        assert kinds.count("malformed line") == 2


def test_rows_without_a_state_do_not_fill_the_memory():
    """SNG-08: the error says how to read them all the same."""
    config = script(SCHEMA, *map(row, range(1000)))
    with (
        reading(properties(config, buffer_max_bytes=10_000)) as task,
        pytest.raises(DamagedDataError, match=r"10000 bytes without a STATE .* transaction\.boundary = connector"),
    ):
        task.run()
    with reading(properties(config, buffer_max_bytes=10_000), boundary="connector") as task:
        task.run()
        assert task.ids == list(range(1000))


def test_a_huge_line_is_read_in_one_piece():
    """SNG-08: as long as `line.max.bytes` allows it."""
    config = script(SCHEMA, {"type": "RECORD", "stream": "s", "record": {"id": 1, "text": "x" * 3_000_000}})
    with reading(properties(config)) as task:
        task.run()
        assert task.ids == [1]
        assert "properties without schema" in [kind for kind, _, _ in task.context.notices]


def test_versions_are_headers():
    """SNG-14."""
    with reading(properties(script(SCHEMA, row(1, version=7), row(2)))) as task:
        batch = None
        while batch is None:
            batch = task.task.poll()
        assert [[(name, one.value) for name, one in headers] for headers in batch[0].headers] == [
            [("singer.version", 7)],
            [],
        ]


def test_the_tap_waits_between_two_runs():
    """SNG-14: for `poll.interval.ms`."""
    with reading(properties(script(SCHEMA, row(1)), poll_interval_ms=3_600_000)) as task:
        task.run()
        assert (task.task.poll(), task.task.at_end(), task.task._run) == (None, True, None)


def test_the_task_begins_with_the_state_of_its_properties(rows):
    """SNG-14: once; afterwards its own offset counts."""
    with reading(properties({"rows": rows}, tap_state='{"bookmarks": {"orders": "2024-01-02"}}')) as task:
        assert [row["id"] for _, row in task.run()] == [2, 3, 1]


CAT = (sys.executable, "-c", "import sys; print(open(sys.argv[2]).read())")
"""A tap that writes the file of its only option."""


@pytest.mark.parametrize("decimals", ["double", "string"])
def test_a_state_keeps_numbers_that_no_float_holds(decimals):
    """SNG-04: the tap would go on at another place, or be given a STATE that is no JSON."""
    odd = (
        '{"bookmarks":{"a":1700000000.12345678901234567890,"b":1E+400,"c":1.5,"d":12345678901234567890,"e":"\\u00e9"}}'
    )
    line = f'{{"type": "STATE", "value": {odd.replace("1.5", "1.50")}}}'
    with reading(properties(script(SCHEMA, row(1), line), decimal_handling_mode=decimals)) as task:
        task.run()
        state = task.offset["state"]
    assert state == odd
    shown = TapProcess(CAT, {"--state": Position(state).value()}, 1000, str)
    found = []
    while (lines := shown.read(1.0)) is not None:
        found += lines
    shown.kill()
    assert found == [odd.encode()]


@pytest.mark.parametrize("secret", ["s3cret/+=", "s3cret and more", 2718281828])
def test_secrets_are_masked_as_they_stand_in_urls_and_in_long_lines(caplog, secret):
    """SNG-10: an error of a request has the URL with its query; a line that is too long is cut off in a log."""
    forms = [str(secret), quote(str(secret)), quote(str(secret), safe=""), quote_plus(str(secret))]
    config = {"api_key": secret, "script": [], "log": "\n".join([*forms, "x" * 9_996 + str(secret)])}
    with reading(properties(config)) as task, caplog.at_level(logging.INFO, "eosfw_singer.process"):
        task.run()
    assert [one for one in caplog.messages if "s3" in one or "2718" in one] == []
    assert caplog.messages.count("python: [hidden]") == 4


def test_secrets_are_in_no_log_and_in_no_file_that_others_read(tmp_path, caplog, monkeypatch):
    """SNG-10: the configuration is a file that ends with the run; the tap has nothing of the worker's Python."""
    monkeypatch.setenv("PYTHONPATH", "/worker")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    modes = []
    config = {"password": "s3cret", "echo": str(tmp_path / "given"), "log": "I log in with s3cret, mode verbose"}
    with reading(properties(config)) as task, caplog.at_level(logging.INFO, "eosfw_singer.process"):
        task.task.poll()
        modes += [stat.S_IMODE(one.stat().st_mode) for one in tmp_path.glob("eosfw-singer-*/config.json")]
        modes += [stat.S_IMODE(one.stat().st_mode) for one in tmp_path.glob("eosfw-singer-*")]
        task.run()
        assert list(tmp_path.glob("eosfw-singer-*")) == []
    environment = json.loads((tmp_path / "given").read_text())["environment"]
    assert set(modes) <= {0o600, 0o700}
    assert "PYTHONPATH" not in environment
    assert Path(environment["TMPDIR"]).parent == tmp_path
    assert "python: I log in with [hidden], mode verbose" in caplog.messages
