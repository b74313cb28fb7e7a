"""The reporter keeps every promise, and a run leaves its numbers in the file."""

import json

import pytest
from eosfw_metrics_file import JsonFileReporter

from pytest_eos import contracts


def last_report(path):
    """The last line of the file."""
    return json.loads(path.read_text(encoding="utf-8").splitlines()[-1])


class TestJsonFile(contracts.MetricsReporterContract):
    @pytest.fixture
    def reported(self, tmp_path):
        path = tmp_path / "metrics.jsonl"
        return contracts.ReportedMetrics(
            JsonFileReporter,
            values=lambda: {one["name"]: one["value"] for one in last_report(path)["metrics"]},
            properties={"path": str(path)},
        )


def test_a_run_leaves_its_numbers_in_the_file(eos, tmp_path):
    (tmp_path / "lines.txt").write_text("one\ntwo\nthree\n")
    path = tmp_path / "metrics.jsonl"
    eos.worker(metric_reporters="json-file", **{"metric.reporters.json-file.path": str(path)})

    eos.run("file", {"file": f"{tmp_path}/lines.txt"}).group.stop()

    report = last_report(path)
    written = [one for one in report["metrics"] if one["name"] == "source-record-write-total"]
    assert [one["value"] for one in written] == [3]
    assert report["connect.group.id"]
