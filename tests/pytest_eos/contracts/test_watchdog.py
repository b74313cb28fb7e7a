"""A call of a connector that blocks ends its test, and says where it stands."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.child_pytest import WITHOUT_PLUGINS
from tests.pytest_eos import counter
from tests.pytest_eos.blocking import LONG, UnknownEnd

from eosfw.concurrency import ThreadRuntime
from pytest_eos.contracts import Source, SourceConnectorContract
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.diagnostics import watchdog
from pytest_eos.environment.diagnostics.task_calls import CallLog
from pytest_eos.environment.diagnostics.watchdog import watching

pytest_plugins = ("pytester",)
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again
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


def test_a_stop_that_waits_for_a_thread_whose_queue_is_full_is_named(pytester):
    """A task is stopped in between, when its threads wait for room."""
    pytester.makepyfile(CONTRACT.format(connector="Filling"))

    result = pytester.runpytest_inprocess(*QUIET, "-k", "leaves_nothing_behind")

    result.stdout.fnmatch_lines(["stop of task contract-0 blocks: *called by stop (*blocking.py:*"])
    assert result.duration < LONG / 4


def test_a_poll_that_blocks_in_virtual_time_fails_naming_its_line(pytester):
    """The patience of the test is in virtual seconds, and none of them goes by."""
    pytester.makepyfile(RUN.format(connector="Polling"))

    result = pytester.runpytest_inprocess(*QUIET)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["poll of task polling-* blocks: it has not returned for * s of real time, and stands in poll (*blocking.py:*"]
    )
    assert result.duration < LONG / 4


def test_a_task_in_its_first_poll_is_not_taken_for_the_one_before_it():
    """A slow source is read again and again by tasks of one name, each of which a look may find in a first poll."""
    log, seen = CallLog(), []
    for _ in range(2):
        task = UnknownEnd.task()
        task.poll = lambda: seen.append(log.progress()) or []
        log.record_task(task).poll()

    assert seen[0] != seen[1]


def test_a_signal_that_comes_while_another_is_handled_changes_nothing(monkeypatch):
    """Until a call has ended it is signalled again and again."""
    debugged, again = watchdog._debugged, [watchdog._SIGNAL]

    def signalled_again(frame):
        while again:
            signal.raise_signal(again.pop())
        return debugged(frame)

    def blocked(watch):
        watch.blocked_for = 3.0
        signal.raise_signal(watchdog._SIGNAL)

    monkeypatch.setattr(watchdog, "_debugged", signalled_again)
    log = SimpleNamespace(progress=lambda: (1,), blocked=lambda: None)
    watch = watchdog._Watch(log, 1.0, ThreadRuntime().event(), lambda: 0.0, seen=(1,))
    before = signal.signal(watchdog._SIGNAL, watch.handle)
    try:
        with pytest.raises(pytest.fail.Exception, match=r"for 3 s of real time, and stands in blocked \(") as failed:
            blocked(watch)
    finally:
        signal.signal(watchdog._SIGNAL, before)

    assert not again
    assert "signalled_again" not in str(failed.value)


@pytest.mark.parametrize(("text", "test"), [(CONTRACT, "stands_still"), (RUN, "test_")], ids=["contract", "run"])
def test_a_watch_that_blocks_is_named(pytester, text, test):
    """A connector's own methods are watched as those of its tasks are."""
    pytester.makepyfile(text.format(connector="Watching"))

    result = pytester.runpytest_inprocess(*QUIET, "-k", test)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*watch of connector watching blocks: it has not returned for * s *stands in watch (*blocking.py:*"]
    )
    assert result.duration < LONG / 4


def test_a_task_whose_stop_blocks_is_named(pytester):
    """Each method of a task is watched."""
    pytester.makepyfile(CONTRACT.format(connector="Stopping"))

    result = pytester.runpytest_inprocess(*QUIET, "-k", "test_the_same_source")

    result.stdout.fnmatch_lines(["stop of task contract-0 blocks: *stands in stop (*blocking.py:*"])
    assert result.duration < LONG / 4


class LookingClock(ThreadRuntime):
    """A clock that only the watchdog's looks move, from the moment at which a call blocks to that of its signal."""

    def __init__(self) -> None:
        self.blocked, self.over, self.time, self.signalled = super().event(), super().event(), 0.0, False

    def now(self) -> float:
        return self.time

    def event(self) -> LookingClock.Look:
        return self.Look(self)

    class Look:
        def __init__(self, clock: LookingClock) -> None:
            self.clock = clock

        def set(self) -> None:
            self.clock.over.set()
            self.clock.blocked.set()

        def wait(self, timeout: float) -> bool:
            self.clock.blocked.wait()
            if self.clock.signalled:  # the call may still be on its way out
                return self.clock.over.wait(0.05)
            self.clock.time += timeout
            return self.clock.over.is_set()


class EmptySourceTask:
    """Blocks in poll, since its source is empty."""

    def __init__(self, clock: LookingClock) -> None:
        self.clock = clock

    def poll(self) -> None:
        self.clock.blocked.set()
        ThreadRuntime().queue().get()


@pytest.fixture
def poll_blocked(monkeypatch):
    """Let a poll block under the default patience; the seconds it took to find it, and what was said."""
    stash = pytest.Stash()

    def found(computing: float) -> tuple[float, str]:
        clock, log, send = LookingClock(), CallLog(), signal.pthread_kill

        def kill(*signalled: int) -> None:
            clock.signalled = True
            send(*signalled)

        task = log.record_task(EmptySourceTask(clock))
        with monkeypatch.context() as patched:
            patched.setattr(signal, "pthread_kill", kill)
            watched = watching(stash, log, 60.0, virtual=False, clock=clock, used=lambda: clock.time * computing)
            with pytest.raises(pytest.fail.Exception) as failed, watched:
                task.poll()
        return clock.time, str(failed.value)

    return found


def test_a_poll_that_waits_for_its_empty_source_is_found_within_ten_seconds(poll_blocked):
    """It says which method blocks, and what to do; other tests of its class do not wait as long again."""
    took, message = poll_blocked(computing=0.01)

    assert took <= 10
    assert message.startswith("poll of task EmptySourceTask blocks: it has not returned for ")
    assert "Have `poll` return an empty list when its source has nothing to give for about a second" in message
    again, _ = poll_blocked(computing=0.01)
    assert again < took / 2


def test_a_call_that_computes_is_given_the_whole_patience(poll_blocked):
    """On a busy machine it may take long; only a call that waits has no reason to."""
    took, _ = poll_blocked(computing=0.2)

    assert took >= 60


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
    command = [sys.executable, "-m", "pytest", "-pno:cacheprovider", *WITHOUT_PLUGINS, "test_it.py"]
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
    def _nobody_waits_long_in_real_time(self, monkeypatch):
        real = ThreadRuntime.sleep

        def sleep(clock: ThreadRuntime, seconds: float) -> None:
            assert seconds < 0.1, f"somebody waits for {seconds} real seconds"
            real(clock, seconds)

        monkeypatch.setattr(ThreadRuntime, "sleep", sleep)

    @pytest.fixture
    def source(self):
        return Source(UnknownEnd, {"streams": 3, "until": 12, "batch": 3})
