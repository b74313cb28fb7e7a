"""The progress of a run fits the terminal, shows the remaining time, and is logged without a terminal."""

from __future__ import annotations

import io
import logging
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.cli.run.progress import Progress
from eosfw.cli.run.status_line import Estimate, duration_text, fit_parts, progress_amount, query_parts
from eosfw.connectors import SourceProgress
from eosfw.ids import ConnectorTaskId
from eosfw.protocols import QueryProgress
from eosfw.runtime.status import ConnectorStatus, TaskState, TaskStatus, WorkerStatus
from pytest_eos.virtual import VirtualRuntime


class Terminal(io.StringIO):
    """A terminal that remembers everything that was written to it."""

    def isatty(self) -> bool:
        return True

    def states(self) -> list[str]:
        """The successive states of the live line."""
        return [state.partition("\n")[0] for state in self.getvalue().split("\r\x1b[2K")]


@pytest.fixture
def clock():
    with VirtualRuntime() as runtime:
        yield runtime


@pytest.fixture
def width(monkeypatch):
    """Set how wide terminals are."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return lambda columns: monkeypatch.setenv("COLUMNS", str(columns))


def test_wide_characters_count_as_two_columns() -> None:
    """A path or a reason may hold such characters; a line that is too wide would be wrapped, and never erased."""
    assert fit_parts(["eosfw: 試験", "12 s"], 17) == "eosfw: 試験, 12 s"
    assert fit_parts(["eosfw: 試験", "12 s"], 16) == "eosfw: 試験"
    assert fit_parts(["eosfw: 試験試験"], 12) == "eosfw: 試..."


def a_run(done: int, total: int) -> SimpleNamespace:
    task = TaskStatus(ConnectorTaskId("c", 0), 0, TaskState.RUNNING, progress=SourceProgress(done, total))
    status = WorkerStatus("w", {"c": ConnectorStatus("c", 0, (task,))})
    return SimpleNamespace(worker=SimpleNamespace(status=lambda: status), console=None)


@given(st.lists(st.text("abc", min_size=1), min_size=1), st.integers(1, 120))
def test_a_line_is_never_wider_than_its_terminal(parts, columns) -> None:
    line = fit_parts(parts, columns)

    assert len(line) <= max(columns, 3)
    assert ", ".join(parts).startswith(line.removesuffix("..."))


@pytest.mark.parametrize("columns", [40, 63, 200])
def test_the_progress_line_fits_the_width_and_starts_with_remaining_time(clock, width, columns) -> None:
    width(columns)
    terminal = Terminal()
    run = a_run(250_000_000, 1_000_000_000)
    with Progress(clock, quiet=False, stream=terminal) as progress:
        progress.phase("running c")
        progress.started(run)
        progress.committed(0, 0)
        clock.sleep(0.3)
        run.worker = a_run(500_000_000, 1_000_000_000).worker
        progress.committed(3_000_000, 1500)
        clock.sleep(4)

    states = [state for state in terminal.states() if "left" in state]

    assert states
    assert max(map(len, states)) < columns
    assert states[-1].startswith("eosfw: 50 %, 8 s left")
    assert ("3,000,000 records" in states[-1]) == (columns >= 63)
    assert ("500.0 MB of 1.0 GB" in states[-1]) == (columns == 200)


def test_a_start_that_waits_for_a_fencing_comes_first(clock) -> None:
    """FEN-08: otherwise a run would seem to hang."""
    stream, why = io.StringIO(), "the task starts again after 4 s: earlier producers could not be fenced: no answer"
    task = TaskStatus(ConnectorTaskId("c", 0), 0, TaskState.UNASSIGNED, waiting=why)
    status = WorkerStatus("w", {"c": ConnectorStatus("c", 0, (task,))})
    with Progress(clock, quiet=False, stream=stream) as progress:
        progress.phase("running c")
        progress.started(SimpleNamespace(worker=SimpleNamespace(status=lambda: status), console=None))
        progress.committed(0, 0)
        clock.sleep(12)

    assert stream.getvalue().splitlines()[-1].startswith(f"eosfw: task c-0: {why}")


def test_a_pipe_gets_a_line_every_ten_seconds_whatever_the_run_does(clock) -> None:
    """A step of Spark holds the run's own thread for as long as it takes."""
    stream = io.StringIO()
    with Progress(clock, quiet=False, stream=stream) as progress:
        progress.phase("running step by-city")
        clock.sleep(35)

    lines = stream.getvalue().splitlines()

    assert lines[0] == "eosfw: running step by-city (0.0 s)"
    assert lines[1:] == [f"eosfw: running step by-city, {seconds} s" for seconds in (10, 20, 30)]


def test_a_phase_with_known_progress_shows_its_share(clock) -> None:
    stream = io.StringIO()
    with Progress(clock, quiet=False, stream=stream) as progress:
        progress.phase("replaying the sources")
        progress.advanced(0, 4000, "records")
        clock.sleep(10.5)
        progress.advanced(500, 4000, "records")
        clock.sleep(5.5)
        progress.advanced(1000, 4000, "records")
        clock.sleep(5)

    assert "eosfw: 25 %, 30 s left, replaying the sources, 1,000 of 4,000 records, 20 s" in stream.getvalue()


def test_the_next_phase_begins_without_the_numbers_of_the_last(clock) -> None:
    stream = io.StringIO()
    with Progress(clock, quiet=False, stream=stream) as progress:
        progress.committed(5, 1)
        progress.advanced(5, 10, "records")
        progress.phase("running step a")
        clock.sleep(11)

    assert stream.getvalue().splitlines()[-1] == "eosfw: running step a, 10 s"


def test_quiet_shows_warnings_only(clock) -> None:
    stream = io.StringIO()
    with Progress(clock, quiet=True, stream=stream) as progress:
        progress.phase("running c")
        progress.warning("a warning")
        clock.sleep(100)

    assert stream.getvalue() == "eosfw: warning: a warning\n"


def test_a_log_line_does_not_run_into_the_live_line(clock, width) -> None:
    width(80)
    terminal = Terminal()
    handler = logging.StreamHandler(terminal)
    logging.getLogger().addHandler(handler)
    try:
        with Progress(clock, quiet=False, stream=terminal) as progress:
            progress.phase("running c")
            clock.sleep(1)
            logging.getLogger("eosfw").warning("something happened")
            clock.sleep(1)
    finally:
        logging.getLogger().removeHandler(handler)

    assert "\r\x1b[2Ksomething happened\n" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[1A\x1b[2K"), "nothing of the live line is left at the end"


def test_sources_of_unknown_size_are_shown_without_a_share() -> None:
    known = TaskStatus(ConnectorTaskId("c", 0), 0, TaskState.RUNNING, progress=SourceProgress(1, 2))
    unknown = TaskStatus(ConnectorTaskId("c", 1), 0, TaskState.RUNNING)
    pages = TaskStatus(ConnectorTaskId("c", 2), 0, TaskState.RUNNING, progress=SourceProgress(3, 4, "pages"))

    def progress_of(*tasks: TaskStatus) -> SourceProgress | None:
        return WorkerStatus("w", {"c": ConnectorStatus("c", 0, tasks)}).progress

    assert progress_of(known, known) == SourceProgress(2, 4)
    assert progress_of(known, unknown) is None
    assert progress_of(known, pages) is None
    assert progress_of() is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (125, "2 min 5 s"), (11_400, "3 h 10 min")]
)
def test_a_duration_is_shown_in_two_units(seconds, text) -> None:
    assert duration_text(seconds) == text


def test_an_amount_is_shown_in_its_unit() -> None:
    assert progress_amount(SourceProgress(999, 1_500)) == "999 bytes of 1.5 kB"
    assert progress_amount(SourceProgress(1_000, 20_000, "pages")) == "1,000 of 20,000 pages"


def test_a_stalled_source_shows_no_remaining_time() -> None:
    estimate = Estimate()
    list(estimate.parts(SourceProgress(0, 1000), 0.0))

    assert list(estimate.parts(SourceProgress(500, 1000), 10.0)) == ["50 %", "10 s left"]
    assert list(estimate.parts(SourceProgress(500, 1000), 14.0)) == ["50 %", "14 s left"]
    assert list(estimate.parts(SourceProgress(500, 1000), 15.0)) == ["50 %"]
    assert list(estimate.parts(SourceProgress(600, 1000), 20.0)) == ["60 %", "13 s left"]


def test_a_source_that_was_read_before_is_not_taken_for_fast() -> None:
    """A resumed file starts at 90 %; what was read in an earlier run says nothing of this one's rate."""
    estimate = Estimate()

    assert list(estimate.parts(SourceProgress(900, 1000), 5.0)) == ["90 %"]
    assert list(estimate.parts(SourceProgress(910, 1000), 6.0)) == ["91 %", "9 s left"]


def test_connectors_and_queries_have_lines_of_their_own(clock, width) -> None:
    width(60)
    terminal = Terminal()
    with Progress(clock, quiet=False, stream=terminal) as progress:
        progress.phase("following c, by-city")
        progress.started(a_run(0, 10))
        progress.committed(12, 4)
        progress.query("by-city", QueryProgress(3, 120, 60.0, 40, ("t-0 is held back by transactional id 'stuck'",)))
        clock.sleep(0.3)

    live = terminal.getvalue()
    assert "  c: 1 task, 0 records in 0 transactions" in live
    assert "  by-city: batch 3, 60 rows/s, 40 behind\n" in live  # what does not fit stands in the warning
    assert "eosfw: warning: step by-city: t-0 is held back" in live


def test_a_query_without_a_batch_says_what_it_waits_for() -> None:
    assert query_parts("s", QueryProgress(-1, 0, 0.0)) == ["s: no batch yet"]
    assert query_parts("s", QueryProgress(-1, 0, 0.0, 0, ("held",))) == ["s: no batch yet", "held"]
    assert query_parts("s", QueryProgress(0, 5, 2.0)) == ["s: batch 0", "2 rows/s"]


def test_the_next_step_begins_without_the_query_of_the_last(clock) -> None:
    stream = io.StringIO()
    with Progress(clock, quiet=False, stream=stream) as progress:
        progress.query("first", QueryProgress(0, 5, 2.0, 0))
        progress.phase("running step second")
        clock.sleep(12)

    assert "first" not in stream.getvalue()
    assert progress.queries["first"].rows == 5
