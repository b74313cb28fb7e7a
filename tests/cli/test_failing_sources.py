"""`eosfw run` over sources whose polls fail: never "0 missing", always the reason (TXN-18)."""

from __future__ import annotations

import json

import pytest

from eosfw.errors import ExitCode


def test_a_run_over_a_dead_source_reports_it_until_its_timeout(start, pipeline) -> None:
    """TXN-18: a failing source is not at its end, even if it says so; the first failure is logged at once."""
    # Long enough not to pass between two polls, and short against the hour that passes with the third failure.
    run = start("run", "--timeout", "1800", "--idle", "1000", pipeline("dead", more="records = 3"))

    run.until(lambda: "task c-0 polls again: 1 poll failed, now with: no answer from db:5432" in run.err())
    assert run.end() == ExitCode.UNAVAILABLE
    assert "not done within 1800 s" in run.err()
    report = next(line for line in run.err().splitlines() if "task c-0: " in line)
    assert "polls failed, now with: no answer from db:5432" in report
    assert "verified" not in run.out() + run.err()


@pytest.mark.parametrize("backend", ["memory", "confluent", "kafka-python"])
def test_polls_that_failed_on_the_way_are_in_the_summary(command, pipeline, backend) -> None:
    """TXN-18: the run continues without loss, and the JSON summary counts the failed polls."""
    file = pipeline("flaky", more="records = 3")
    file.write_text(file.read_text().replace('backend = "confluent"', f'backend = "{backend}"'))
    run = command("run", "--json", file)

    assert run.end() == ExitCode.OK, run.err()
    summary = json.loads(run.out())
    assert summary["records"] == 3
    assert summary["poll_failures"]["c-0"]["count"] >= 6
    assert summary["poll_failures"]["c-0"]["error"] == "busy"


def test_the_summary_for_people_says_how_many_polls_failed(command, pipeline) -> None:
    """TXN-18."""
    run = command("run", pipeline("flaky", more="records = 1"))

    assert run.end() == ExitCode.OK, run.err()
    assert "polls failed, at last with: busy" in run.out()
