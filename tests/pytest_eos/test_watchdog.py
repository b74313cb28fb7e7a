"""A call of a connector that blocks ends its test, and says where it stands."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.pytest_eos import counter
from tests.pytest_eos.blocking import LONG, UnknownEnd

from eosfw.concurrency import ThreadRuntime
from pytest_eos.contracts import Source, SourceConnectorContract
from pytest_eos.environment.config.installed_plugins import installed_plugins

pytest_plugins = ("pytester",)
installed_plugins()  # loaded here, so that tests inside tests need not load it again and again
QUIET = ("-p", "no:cacheprovider", "--eos-patience=0.3")
RUN = """\
from tests.pytest_eos import blocking

def test_it(eos):
    eos.run(blocking.{connector})
"""
CONTRACT = """\
import pytest
from pytest_eos.contracts import Source, SourceConnectorContract
from tests.pytest_eos import blocking

class TestIt(SourceConnectorContract):
    @pytest.fixture
    def source(self):
        return Source(blocking.{connector})
"""


def test_a_poll_that_blocks_in_virtual_time_fails_naming_its_line(pytester):
    """The patience of the test is in virtual seconds, and none of them goes by."""
    pytester.makepyfile(RUN.format(connector="Polling"))

    result = pytester.runpytest_inprocess(*QUIET)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["poll of task polling-* blocks: it has not returned for * s of real time, and stands in poll (*blocking.py:*"]
    )
    assert result.duration < LONG / 4


def test_a_task_whose_stop_blocks_is_named(pytester):
    """Each method of a task is watched."""
    pytester.makepyfile(CONTRACT.format(connector="Stopping"))

    result = pytester.runpytest_inprocess(*QUIET, "-k", "test_the_same_source")

    result.stdout.fnmatch_lines(["stop of task contract-0 blocks: *stands in stop (*blocking.py:*"])
    assert result.duration < LONG / 4


def test_one_interrupt_ends_a_test_whose_tasks_block(pytester):
    """Each task of the run would block the thread anew, and take an interrupt of its own."""
    blocked = pytester.path / "blocked"
    pytester.makepyfile(
        counter=Path(counter.__file__).read_text(encoding="utf-8"),
        test_it=f"""
        import pathlib, time
        from counter import CounterConnector, CounterTask

        class Task(CounterTask):
            def poll(self):
                pathlib.Path({str(blocked)!r}).touch()
                time.sleep({LONG})

        class Blocking(CounterConnector):
            name, task = "blocking", Task

        def test_it(eos):
            eos.run(Blocking, {{"streams": 5, "tasks.max": 5}})
        """,
    )
    command = [sys.executable, "-m", "pytest", "-pno:cacheprovider", "test_it.py"]
    quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
    process = pytester.popen(command, stdout=subprocess.PIPE, **quiet)
    try:
        clock = ThreadRuntime()
        while not blocked.exists() and process.poll() is None:
            clock.sleep(0.02)
        process.send_signal(signal.SIGINT)
        message, _ = process.communicate(timeout=LONG / 2)
    finally:
        process.kill()

    assert process.returncode == pytest.ExitCode.INTERRUPTED, message.decode()


class TestUnknownEnd(SourceConnectorContract):
    """A source that does not tell its end: what is waited for it costs virtual seconds alone."""

    @pytest.fixture(autouse=True)
    def _nobody_waits_in_real_time(self, monkeypatch):
        def sleep(_: ThreadRuntime, seconds: float) -> None:
            raise AssertionError(f"somebody waits for {seconds} real seconds")

        monkeypatch.setattr(ThreadRuntime, "sleep", sleep)

    @pytest.fixture
    def source(self):
        return Source(UnknownEnd, {"streams": 3, "until": 12, "batch": 3})
