"""`eosfw run --console`: alone, with an address, beside what it cannot show."""

from __future__ import annotations

import re
import signal
from urllib.request import urlopen

import pytest

from eosfw.cli.run.console_option import with_address
from eosfw.errors import ExitCode

FLOW = "flow.toml"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["--console", FLOW], ["--console=127.0.0.1:0", FLOW]),
        ([FLOW, "--follow", "--console"], [FLOW, "--follow", "--console=127.0.0.1:0"]),
        (["--console", "127.0.0.1:8083", FLOW], ["--console=127.0.0.1:8083", FLOW]),
        (["--console", "[::1]:8083", FLOW], ["--console=[::1]:8083", FLOW]),
        (["--console=localhost:1", FLOW], ["--console=localhost:1", FLOW]),
        (["--console", "C:flow.toml"], ["--console=127.0.0.1:0", "C:flow.toml"]),
    ],
)
def test_the_option_alone_means_a_free_port(given, meant) -> None:
    assert list(with_address(given)) == meant


def test_pages_are_served_until_the_run_is_ended(start, pipeline) -> None:
    run = start("run", "--quiet", "--follow", "--console", pipeline(more="records = 3"))
    run.until(lambda: re.search(r"console at (\S+)\n", run.err()))
    url = re.search(r"console at (\S+)\n", run.err())[1]

    with urlopen(url, timeout=60) as answer:
        assert b"This is the run of pipeline.toml" in answer.read()

    run.send(signal.SIGINT)
    assert run.end() == ExitCode.INTERRUPTED
    assert run.err().count(url) == 1
    assert "Traceback" not in run.err()


def test_a_console_has_nothing_to_show_of_steps_alone(command, pipeline) -> None:
    run = command("run", "--console", "--steps-only", pipeline())

    assert run.end() == ExitCode.USAGE
    assert "--steps-only runs none" in run.err()
