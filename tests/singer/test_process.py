"""A tap ends with the task that runs it, and with the worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from eosfw_singer.lines import LineBeginnings
from eosfw_singer.process import TapProcess

from .reading import properties, reading, rows_file

ENDED = "print('up', flush=True)"
CHILD = "import subprocess, sys, time; subprocess.Popen(['sleep', '3600']); print('up', flush=True); time.sleep(3600)"
WORKER = """
import sys, time
from eosfw_singer.process import TapProcess
tap = TapProcess((sys.executable, "-c", {child!r}), {{"--config": {{"password": "x"}}}}, 1000, str)
while not tap.read(1.0):
    pass
if {child!r} == {ended!r}:
    tap.status()
print(tap._process.pid, tap._folder, flush=True)
time.sleep(3600)
"""


def test_a_stopped_task_ends_its_tap_with_all_that_it_has_started(tmp_path, monkeypatch):
    """SNG-11: also one that is in the middle of its work, or waits for something."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    process = TapProcess((sys.executable, "-c", CHILD), {}, 1000, str)
    while not process.read(1.0):
        pass
    group = members(process._process.pid)
    assert len(group) >= 3
    process.kill()
    psutil.wait_procs(group, timeout=30)
    assert not any(map(alive, group))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("child", [CHILD, ENDED])
def test_a_killed_worker_leaves_no_tap_and_no_file_behind(tmp_path, child):
    """SNG-11: the tap of a killed worker would keep what its successor needs, and its configuration has passwords.

    So has that of a tap which has just ended by itself.
    """
    command = [sys.executable, "-c", WORKER.format(child=child, ended=ENDED)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"TMPDIR": str(tmp_path)}) as worker:
        pid, folder = worker.stdout.readline().split()
        group = members(int(pid))
        assert json.loads((Path(os.fsdecode(folder)) / "config.json").read_text()) == {"password": "x"}
        worker.kill()
    _, left = psutil.wait_procs(group, timeout=30)
    assert [one for one in left if alive(one)] == []
    assert list(tmp_path.iterdir()) == []


def test_a_tap_has_ended_though_what_it_has_started_has_not(tmp_path):
    """SNG-11: a tunnel, say, which holds the tap's pipes open; all that the tap wrote is read first."""
    code = "import subprocess; subprocess.Popen(['sleep', '3600']); print('one'); print('two', end='')"
    process = TapProcess((sys.executable, "-c", code), {}, 1000, str)
    group, lines = members(process._process.pid), []
    while (found := process.read(1.0)) is not None:
        lines += found
    assert (lines, process.status()) == ([b"one", b"two"], 0)
    process.kill()
    psutil.wait_procs(group, timeout=30)
    assert not any(map(alive, group))


def test_a_tap_that_is_killed_in_the_middle_of_a_line_has_failed(tmp_path):
    """SNG-09: what it wrote of the line is no message that it should not have written."""
    once = tmp_path / "once"
    once.touch()
    code = f"""
import os, pathlib, sys
print('{{"type": "SCHEMA", "stream": "orders", "key_properties": [], ', end="")
print('"schema": {{"properties": {{"id": {{"type": "integer"}}}}}}}}')
once = pathlib.Path({str(once)!r})
if once.exists():
    once.unlink()
    print('{{"type": "RECORD", "stream": "or', end="", flush=True)
    os.kill(os.getpid(), 9)
print('{{"type": "RECORD", "stream": "orders", "record": {{"id": 7}}}}')
print('{{"type": "STATE", "value": {{"a": 1}}}}', end="")
"""
    script = tmp_path / "tap.py"
    script.write_text(code)
    given = properties({}, retry_backoff_ms=0) | {"tap.command": f"{sys.executable} {script}"}
    with reading(given) as task:
        task.run()

    assert [str(one).partition(";")[0] for one in task.errors] == ["tap.command: python ended by signal 9"]
    assert task.ids == [7]
    assert json.loads(task.offset["state"]) == {"a": 1}


def test_a_task_that_was_shut_out_ends_its_tap(eos, tmp_path, zombies):
    """SNG-11: a zombie's tap lives no longer than the zombie; the worker's own `stop` ends it."""
    rows = rows_file(tmp_path / "rows", [("orders", number, f"2024-01-{number:02}") for number in range(1, 20)])
    before = set(psutil.Process().children(recursive=True))
    given = properties({"rows": rows, "state_every": 2}, batch_max_rows=2)
    run = eos.create_run("singer", given | {"key.converter": "json", "value.converter": "json"})
    sleeper = zombies.task("commit", nth=2)

    run.group.put(run.name, run.properties)
    sleeper.await_frozen()
    run.group.put(run.name, run.properties)
    run.group.until_drained()
    sleeper.wake().await_end()

    assert sleeper.fenced
    assert set(psutil.Process().children(recursive=True)) - before == set()
    eos.assert_exactly_once(run, expected=run.source_records())


def test_a_stopped_task_in_the_middle_of_a_run(tmp_path):
    """SNG-11: what was read and not committed is read again by the next one."""
    rows = rows_file(tmp_path / "rows", [("orders", number, "2024-01-01") for number in range(5)])
    with reading(properties({"rows": rows, "pause": 0.01}, batch_max_rows=1), boundary="connector") as task:
        while not task.open:  # a poll does not wait for long until the tap has started
            task.poll()
        tap = task.task._run.tap._process._process
    assert tap.poll() is not None
    assert task.committed == []


def members(leader):
    found = []
    for one in psutil.process_iter():
        with suppress(ProcessLookupError):  # one of another group that has ended meanwhile
            if os.getpgid(one.pid) == leader:
                found.append(one)
    return found


def alive(process):
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_a_log_without_line_ends_does_not_fill_the_memory():
    """SNG-08: of a line its beginning is logged, so no more is kept."""
    beginnings = LineBeginnings(10)
    kept = [beginnings.lines(piece) for piece in (b"one\ntw", b"o\n", b"x" * 7, b"y" * 10**6, b"z\nnext")]

    assert kept == [[b"one"], [b"two"], [], [], [b"xxxxxxxyyy"]]
    assert beginnings.last() == [b"next"]
    assert beginnings.last() == []
