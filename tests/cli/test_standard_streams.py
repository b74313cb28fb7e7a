"""Where stdout and stderr lead is no reason for a traceback, for silence, or for the wrong exit code."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import ENDLESS

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ExitCode

COMMAND = (sys.executable, "-W", "ignore", "-c", "import sys; from eosfw.cli import main; main(sys.argv[1:])")
FULL = "eosfw: the result could not be written to stdout: No space left on device; see to the place that stdout is "


def shell(redirection: str, *arguments: str, limit: str = "", kit: Path | str = "") -> subprocess.CompletedProcess[str]:
    """Run `eosfw ARGUMENTS REDIRECTION`, with the test kit that was installed into a folder."""
    line = f'{limit} exec "$@" {redirection}'
    return subprocess.run(
        ["bash", "-c", line, "bash", *COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        env=os.environ | {"PYTHONPATH": str(kit)},
    )


@pytest.fixture
def flow(tmp_path) -> str:
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    path = tmp_path / "flow.toml"
    path.write_text(
        '[cluster]\nbackend = "memory"\n[worker]\n"group.id" = "g"\n[connectors.c]\n"connector.class" = "file"\n'
        'file = "lines.txt"\ntopic = "t"\n'
    )
    return str(path)


@pytest.mark.parametrize("arguments", [["plugins"], ["run", "--json"], ["broker", "--listen", "127.0.0.1:0"]], ids=str)
def test_a_result_that_cannot_be_written_is_one_sentence(flow, arguments) -> None:
    ended = shell("> /dev/full", *arguments, *(["--quiet", flow] if "run" in arguments else []))

    assert ended.returncode == ExitCode.VERDICT_FAILED
    assert ended.stderr.startswith(FULL)
    assert ended.stderr.count("\n") == 1


def test_an_error_is_reported_although_stdout_is_full() -> None:
    ended = shell("> /dev/full", "run", "--json", "no-such.toml")

    assert ended.returncode == ExitCode.CONFIGURATION
    assert "there is no such file" in ended.stderr


def test_a_closed_stdout_is_reported_before_anything_starts(flow) -> None:
    ended = shell(">&-", "run", flow)

    assert ended.returncode == ExitCode.USAGE
    assert ended.stderr == "eosfw: stdout is closed, so no result can be told; redirect it, if only to /dev/null\n"


@pytest.mark.parametrize("redirection", ["2> /dev/full", "<&- 2>&-"])
def test_an_unreadable_stderr_does_not_fail_a_command(flow, redirection) -> None:
    ended = shell(redirection, "run", flow)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "2 records committed in 1 transaction" in ended.stdout
    assert "verified: 0 duplicates, 0 missing" in ended.stdout


@pytest.mark.parametrize("redirection", ["2> /dev/full", "2> >(exec true)"], ids=["full", "no reader"])
def test_a_connector_that_prints_goes_on_when_nobody_can_read_it(kit, pipeline, redirection) -> None:
    """Its stdout leads to stderr; what it prints is no result of the command."""
    file = pipeline(more="records = 500")  # more text than a stream keeps before it writes

    ended = shell(redirection, "run", str(file), kit=kit)

    assert ended.returncode == 0
    assert "500 records committed" in ended.stdout


def test_no_descriptor_left_is_one_sentence(flow) -> None:
    ended = shell("", "run", "--quiet", flow, limit="ulimit -n 7;")

    assert ended.returncode == ExitCode.CONFIGURATION
    assert ended.stderr.endswith("Too many open files; raise `ulimit -n`\n")
    assert ended.stderr.count("\n") == 1


def test_a_terminal_that_hangs_up_stops_a_run_cleanly(kit, pipeline) -> None:
    """Its messages have no reader any more, which must not keep the run from committing what it polled."""
    master, slave = pty.openpty()
    file = pipeline("slow", more=ENDLESS)
    environment = os.environ | {"PYTHONPATH": str(kit)}
    process = subprocess.Popen(
        [*COMMAND, "run", str(file)], stdout=subprocess.DEVNULL, stderr=slave, env=environment, start_new_session=True
    )
    os.close(slave)
    seen = b""
    while b"a record was polled" not in seen:
        seen += os.read(master, 1000)
    os.close(master)

    process.send_signal(signal.SIGHUP)

    assert process.wait(60) == ExitCode.INTERRUPTED


def test_sighup_under_nohup_is_ignored(start, pipeline, tmp_path) -> None:
    release = tmp_path / "release"
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # inherited, as from nohup
    try:
        run = start("run", "--quiet", pipeline("held", more=f'records = 3\nrelease = "{release}"'))
    finally:
        signal.signal(signal.SIGHUP, before)
    run.until(lambda: run.err().count("a connector that prints") >= 3)

    run.send(signal.SIGHUP)
    ThreadRuntime().sleep(0.5)
    release.touch()

    assert run.end() == 0
    assert "3 records committed" in run.out()


def test_what_the_encoding_of_stdout_lacks_is_escaped(tmp_path) -> None:
    ended = shell("", "new", "connector", "acme", "--output", str(tmp_path / "€"), limit="PYTHONIOENCODING=ascii")

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == f"{tmp_path}/\\u20ac\n"


def test_a_file_name_that_is_no_utf8_is_no_obstacle(tmp_path, flow) -> None:
    file = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.toml")
    Path(flow).rename(file)

    ended = shell("", "run", "--check", file)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"{tmp_path}/\\udcff.toml: no problems\n"


def test_a_closed_stdin_is_an_empty_one() -> None:
    ended = shell("<&-", "connectors", "create", "-")

    assert ended.returncode == ExitCode.CONFIGURATION
    assert ended.stderr.startswith("eosfw: -: it is not JSON")
