"""`eosfw read` prints a source's records; `--check` and the doctor check sources."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from eosfw.errors import ExitCode


def records(run: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.out().splitlines()]


def test_records_go_to_stdout_and_all_else_to_stderr(command) -> None:
    """Also what a connector prints."""
    run = command("read", "counting", "-p", "topic=t", "-p", "records=3", "-p", "tasks.max=1")

    assert run.end() == 0, run.err()
    assert records(run) == [
        {
            "topic": "t",
            "key": None,
            "value": f'{{"n":{n}}}',
            "source_partition": {"source": "0"},
            "source_offset": {"next": n},
        }
        for n in (1, 2, 3)
    ]
    assert "a connector that prints" in run.err()
    assert "eosfw: 3 records\n" in run.err()


def test_a_limit_ends_a_source_without_end(command) -> None:
    run = command("read", "endless", "--limit", 2, "-p", "topic=t")

    assert run.end() == 0, run.err()
    assert len(records(run)) == 2


def test_properties_may_come_from_a_pipeline_file(command, pipeline) -> None:
    """Single ones may be replaced; no cluster is reached."""
    file = pipeline(more="records = 50", cluster='"bootstrap.servers" = "127.0.0.1:1"')
    run = command("read", "c", "--pipeline", file, "-p", "records=1")

    assert run.end() == 0, run.err()
    assert len(records(run)) == 1


def test_values_that_are_no_text_are_printed_as_base64(command, tmp_path) -> None:
    (tmp_path / "lines").write_bytes(b"caf\xc3\xa9\n\xff\n")
    run = command("read", "file", "-p", "topic=t", "-p", "file=lines")

    assert run.end() == 0, run.err()
    assert [record["value"] for record in records(run)] == ["café", {"base64": "/w=="}]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["counting", "-p", "topic"], ExitCode.USAGE, "'topic' is not KEY=VALUE"),
        (["counting", "-p", "recrods=1"], ExitCode.CONFIGURATION, "did you mean 'records'?"),
        (["cc", "--pipeline", "pipeline.toml"], ExitCode.CONFIGURATION, "has no [connectors.cc]; did you mean 'c'?"),
        (["raising", "-p", "topic=t", "-p", "records=0"], ExitCode.VERDICT_FAILED, "task read-0 failed: RuntimeError"),
        (
            ["c", "--pipeline", "pipeline.toml", "-p", "connector.class=raising", "-p", "records=0"],
            ExitCode.VERDICT_FAILED,
            "task read-c-0 failed: RuntimeError",
        ),
    ],
)
def test_an_unreadable_source_is_reported_with_one_sentence_and_exit_code(
    command, pipeline, arguments, code, message
) -> None:
    pipeline()
    run = command("read", *arguments)

    assert run.end() == code
    assert message in run.err()
    assert "Traceback" not in run.err()
    assert run.out() == ""


def test_a_closed_pipe_on_stdout_ends_the_command(start, tmp_path) -> None:
    """As of `eosfw read … | head`."""
    import os
    import subprocess
    import sys

    code = "import sys; from eosfw.cli import main; main(sys.argv[1:])"
    (tmp_path / "lines").write_bytes(b"line\n" * 100_000)
    arguments = [sys.executable, "-c", code, "read", "file", "-p", "topic=t", "-p", f"file={tmp_path}/lines"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        message = process.stderr.read()

    assert process.returncode == 0
    assert b"Traceback" not in message


def test_ctrl_c_ends_the_reading(start) -> None:
    run = start("read", "endless", "-p", "topic=t")
    run.until(run.out)
    run.send(signal.SIGINT)

    assert run.end() == ExitCode.INTERRUPTED
    assert "Traceback" not in run.err()


@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        ("wrong", ExitCode.CONFIGURATION, "pipeline.toml [connectors.c]: table: there is no table 'orders'"),
        ("down", ExitCode.UNAVAILABLE, "pipeline.toml [connectors.c]: db.example:5432 refused the connection"),
    ],
)
def test_a_check_contacts_the_sources(command, pipeline, source, code, message) -> None:
    run = command("run", "--check", "--json", pipeline("asked", more=f'source = "{source}"'))

    assert run.end() == code
    assert message in run.err()
    (problem,) = json.loads(run.out())["problems"]
    assert message == f"{problem['where']}: {problem['what']}"


@pytest.mark.parametrize(("source", "health"), [("fine", "ok"), ("down", "unavailable")])
def test_the_doctor_asks_the_sources_of_a_pipeline(command, pipeline, source, health) -> None:
    run = command("doctor", "--json", pipeline("asked", more=f'source = "{source}"'))
    run.end()

    (finding,) = [one for one in json.loads(run.out())["findings"] if one["subject"] == "source of c"]
    assert finding["health"] == health
