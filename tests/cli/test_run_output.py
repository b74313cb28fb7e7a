"""Machine-readable output of `eosfw run`: JSON of failures, the timeline file."""

from __future__ import annotations

import json
import signal
import socket

import pytest
from tests.cli.conftest import ENDLESS

from eosfw.errors import ExitCode


def failure(run) -> dict:
    """The one object on stdout."""
    found = json.loads(run.out())
    assert found["passed"] is False
    return found


def test_a_run_that_fails_puts_its_error_on_stdout(command, pipeline) -> None:
    run = command("run", "--json", pipeline("raising", more="records = 3"))

    assert run.end() == ExitCode.VERDICT_FAILED
    found = failure(run)
    assert found["error"]["type"] == "TaskFailedError"
    assert found["error"]["message"].startswith("task c-0 failed: RuntimeError: the source fell over")
    assert found["error"]["exit_code"] == ExitCode.VERDICT_FAILED
    assert (found["records"], found["transactions"]) == (3, 3)
    assert "task c-0 failed" in run.err(), "and the sentence stays on stderr"


def test_a_run_that_cannot_start_puts_its_error_on_stdout(command, pipeline) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        file = pipeline(cluster=f'"bootstrap.servers" = "{address}"\n"default.api.timeout.ms" = 3000')
        run = command("run", "--json", file)

        assert run.end() == ExitCode.UNAVAILABLE
    assert failure(run)["error"]["exit_code"] == ExitCode.UNAVAILABLE
    assert failure(run)["records"] == 0


@pytest.mark.parametrize("arguments", [["--json"], ["--json", "--check"]], ids=" ".join)
def test_mistakes_in_a_file_are_reported_in_json(command, tmp_path, arguments) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('[clster]\n[worker]\n"group.id" = "g"\n')
    run = command("run", *arguments, file)

    assert run.end() == ExitCode.CONFIGURATION
    found = json.loads(run.out())
    if "--check" in arguments:
        places = [one["where"] for one in found["problems"]]
        assert any("did you mean 'cluster'?" in one["what"] for one in found["problems"]), found
        assert all(places)
    else:
        assert found["error"]["type"] == "ConfigError"


def test_every_run_can_draw_its_timeline(command, pipeline, tmp_path) -> None:
    drawn = command("run", "--quiet", "--timeline", tmp_path / "t.svg", pipeline(more="records = 3"))
    assert drawn.end() == 0, drawn.err()
    written = command("run", "--quiet", "--timeline", tmp_path / "t.txt", pipeline("raising", more="records = 3"))
    assert written.end() == ExitCode.VERDICT_FAILED

    assert "Transactions of pipeline.toml" in (tmp_path / "t.svg").read_text()
    assert f"timeline in {tmp_path / 't.svg'}" in drawn.err()
    assert (tmp_path / "t.txt").read_text().startswith("leader"), "a run that failed is drawn, too"


@pytest.mark.parametrize(
    ("name", "message"),
    [("t.png", "end its name in .svg"), ("nowhere/t.svg", "cannot be written"), ("", "end its name in .svg")],
)
def test_a_timeline_that_cannot_be_written_is_refused_before_the_run(
    command, pipeline, tmp_path, name, message
) -> None:
    run = command("run", "--timeline", tmp_path / name, pipeline())

    assert run.end() == ExitCode.USAGE
    assert message in run.err()
    assert "running" not in run.err()


def test_an_interrupted_run_does_not_claim_a_commit_that_failed(start, pipeline, tmp_path) -> None:
    """The cluster is gone, so the polled records cannot have been committed."""
    broker = start("broker", "--listen", "127.0.0.1:0")
    broker.until(lambda: "listening on" in broker.out())
    address = broker.out().split()[2]
    file = pipeline("slow", cluster=f'"bootstrap.servers" = "{address}"', more=ENDLESS, graceful_ms=2000)
    file.write_text(file.read_text().replace('backend = "confluent"', 'backend = "memory"'))
    run = start("run", file)
    run.until(lambda: run.polled() > 10)
    broker.send(signal.SIGKILL)
    broker.end()

    run.send(signal.SIGINT)

    assert run.end() == ExitCode.INTERRUPTED
    assert "what was polled is committed" not in run.err()
    assert "could not be committed" in run.err()
