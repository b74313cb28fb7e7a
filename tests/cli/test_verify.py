"""`eosfw verify` says what a history shows, with the events (CHK-05)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checker.model_history import model_history
from checker.planted import planted
from cli.invocation import invoke
from eosfw.checker import Operation, write_history


def written(tmp_path: Path, history: list[Operation]) -> str:
    write_history(tmp_path / "history.jsonl", history)
    return str(tmp_path / "history.jsonl")


def test_a_history_that_is_good_ends_with_exit_code_0(tmp_path: Path) -> None:
    result = invoke("verify", written(tmp_path, model_history(1)))
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].startswith("good: ")


def test_an_anomaly_is_shown_with_its_events(tmp_path: Path) -> None:
    result = invoke("verify", written(tmp_path, planted("duplicate", model_history(1))))
    assert result.returncode == 1
    assert result.stdout.startswith("duplicate: ")
    assert "anomalies: " in result.stdout.splitlines()[-1]


def test_json_has_the_judgement_and_the_witness(tmp_path: Path) -> None:
    result = invoke("verify", written(tmp_path, planted("duplicate", model_history(1))), "--json")
    answer = json.loads(result.stdout)
    assert answer["judgement"] == "anomalies"
    assert [each["name"] for each in answer["anomalies"]].count("duplicate") == 1
    assert 1 <= len(answer["anomalies"][0]["witness"]) <= 10


def test_a_history_without_the_fault_that_was_asked_for_is_not_good(tmp_path: Path) -> None:
    result = invoke("verify", written(tmp_path, model_history(1)), "--fault", "partition")
    assert result.returncode == 1
    assert "nothing shown: the fault 'partition' was asked for, and did not happen" in result.stdout


@pytest.mark.parametrize("text", ["{\n", None], ids=["malformed", "missing"])
def test_a_bad_file_is_refused_by_one_sentence(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "history.jsonl"
    if text is not None:
        path.write_text(text)
    result = invoke("verify", str(path))
    assert result.returncode not in (0, 1)
    assert str(path) in result.stderr
    assert "Traceback" not in result.stderr
