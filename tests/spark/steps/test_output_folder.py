"""The folders of a step, without Spark: what is replaced, by which run, and who holds a checkpoint."""

from __future__ import annotations

import errno
import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from eosfw.errors import StepFailedError
from eosfw.protocols import Step, StepInput
from eosfw_spark.steps.checkpoint import Checkpoint
from eosfw_spark.steps.output import Output


def written(output: Output, rows: str) -> None:
    """What Spark does, which deletes the folder that it is told to overwrite."""
    place = output.prepare()
    place.mkdir()
    (place / f"part-{rows}.csv").touch()


def shown(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An output with the rows of an earlier run."""
    earlier = Output(tmp_path / "out")
    written(earlier, "earlier")
    earlier.replace()
    return tmp_path / "out"


def test_output_that_another_run_is_writing_is_refused(folder: Path) -> None:
    """Its rows would be those of both, or of neither, though both would be told that they are written."""
    one, other = Output(folder), Output(folder)
    written(one, "one")

    with pytest.raises(StepFailedError, match=f"{folder} is being written by another run: end that one first"):
        other.prepare()
    other.discard()
    one.replace()

    assert shown(folder) == ["part-one.csv"]
    written(other, "other")
    other.replace()
    assert shown(folder) == ["part-other.csv"]
    assert shown(folder.parent) == ["out"]


def test_what_a_killed_run_was_writing_is_no_output(folder: Path) -> None:
    killed = "import os, pathlib, sys; from eosfw_spark.steps.output import Output; "
    killed += "Output(pathlib.Path(sys.argv[1])).prepare().mkdir(); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", killed, folder], check=False).returncode == 9
    again = Output(folder)

    written(again, "again")
    again.replace()

    assert shown(folder) == ["part-again.csv"]
    assert shown(folder.parent) == ["out"]


def test_a_checkpoint_on_a_file_system_without_locks_is_not_in_use(tmp_path: Path, monkeypatch) -> None:
    """Nobody can tell there; that another run has it would be a reason that no user can do away with."""

    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    checkpoint = Checkpoint(tmp_path / "c")
    checkpoint.claim(Step("s", [StepInput("t", "t")], "out", sql="SELECT 1"))
    checkpoint.close()

    assert (tmp_path / "c" / "step.json").exists()
