"""A run of Spark leaves no process, no file, and nothing on stdout."""

from __future__ import annotations

import json
import os
import signal
import socket
import socketserver
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import SparkContext

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import StepFailedError
from eosfw_spark import session

WHOLE_RUN = """
import json
from eosfw.errors import StepFailedError
from eosfw_spark import session
try:
    session.start(more={"spark.master": "local[x]"})
except StepFailedError as why:
    refused = str(why)
running = session.start(cores=2)
assert running.spark.sql("SELECT 1 AS one").collect()[0].one == 1
try:
    running.spark.sql("SELECT nothing").collect()
except Exception as why:
    pass
running.close()
print(json.dumps(refused))
"""
WAITING_RUN = """
import sys
from eosfw_spark import session
running = session.start(cores=2)
running.spark.range(10).rdd.map(lambda row: row).count()
print(running.spark.sparkContext._gateway.proc.pid, flush=True)
sys.stdin.read()
"""
WITHIN = 20.0


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    return tmp_path


def environment(place: Path) -> dict[str, str]:
    # Socket files may have no path as long as this one.
    return {**os.environ, "TMPDIR": str(place / "tmp"), "PYSPARK_UDS_MODE": "false"}


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie that waits for its parent does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_stdout_belongs_to_the_caller_and_no_file_stays(java: None, place: Path) -> None:
    """Behind a Spark that did not start (bad input: a master that is none), and behind one that did."""
    done = subprocess.run(
        [sys.executable, "-c", WHOLE_RUN],
        cwd=place,
        env=environment(place),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    refused = "Spark did not start with master local[x]: Could not parse Master URL: 'local[x]'"
    assert json.loads(done.stdout).startswith(refused)
    assert list((place / "tmp").iterdir()) == []
    assert [path.name for path in place.iterdir()] == ["tmp"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks for processes in /proc")
def test_a_killed_run_takes_its_jvm_and_its_files_with_it(java: None, place: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", WAITING_RUN],
        cwd=place,
        env=environment(place),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    jvm = int(run.stdout.readline())
    assert alive(jvm)
    assert os.getpgid(jvm) != os.getpgid(run.pid), "what a terminal that hangs up sends to all would end Spark first"

    run.send_signal(signal.SIGKILL)
    run.wait(WITHIN)
    run.communicate()

    runtime = ThreadRuntime()
    deadline = runtime.now() + WITHIN
    while (alive(jvm) or list((place / "tmp").iterdir())) and runtime.now() < deadline:
        runtime.sleep(0.05)
    assert not alive(jvm)
    assert list((place / "tmp").iterdir()) == []


def test_steps_refuse_a_session_of_spark_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    """As PySpark marks a process with such a session."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")

    with pytest.raises(StepFailedError, match="a Spark Connect session runs in this process"):
        session.start()


def test_a_session_whose_jvm_has_ended_is_closed_without_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bad input: a JVM that was killed, before the run is asked to end. A JVM of others is theirs."""
    other = object()
    monkeypatch.setattr(SparkContext, "_gateway", other)

    class Ended:
        def stop(self) -> None:
            raise ConnectionError("Error while sending or receiving")

        shutdown = stop

    gateway = Ended()
    gateway.proc = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE)  # type: ignore[attr-defined]
    (tmp_path / "own").mkdir()

    session.Session(Ended(), gateway, tmp_path / "own").close()  # type: ignore[arg-type]

    assert not (tmp_path / "own").exists()
    assert SparkContext._gateway is other


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (
            'Exception in thread "main" java.lang.NumberFormatException: Size must be bytes\n\tat a.B.c(D.java:1)\n',
            "Size must be bytes",
        ),
        ("x\njava.lang.A: outer\n\tat a.B.c(D.java:1)\nCaused by: java.lang.C: inner\n\t... 3 more\n", "inner"),
        ("Error: no such option\n", "Error: no such option"),
        ("", ""),
    ],
)
def test_a_jvm_that_ends_at_once_is_quoted_without_its_stack_trace(tmp_path: Path, log: str, sentence: str) -> None:
    (tmp_path / session.LOG).write_text(log)

    assert session._last_log_line(tmp_path) == sentence


@pytest.mark.parametrize(("why", "traced"), [(EOFError, False), (ConnectionResetError, False), (ValueError, True)])
def test_a_connection_that_spark_ends_leaves_no_trace(capfd: pytest.CaptureFixture[str], why: type, *, traced: bool):
    """Ctrl-C ends the JVM, too, while PySpark's server of accumulators waits for its updates."""

    class Ended(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            raise why

    with socketserver.TCPServer(("127.0.0.1", 0), Ended) as server:
        session.let_connections_end(server)
        with socket.create_connection(server.server_address):
            server.handle_request()

    assert ("Traceback" in capfd.readouterr().err) is traced
