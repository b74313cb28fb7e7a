"""`eosfw run --verify`: alone, with a value, with contradicting options."""

from __future__ import annotations

import pytest

from eosfw.cli.run.verify_option import with_values
from eosfw.errors import ExitCode

FLOW = "flow.toml"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["--verify", FLOW], ["--verify=required", FLOW]),
        ([FLOW, "--verify"], [FLOW, "--verify=required"]),
        (["--verify", "try", FLOW], ["--verify=try", FLOW]),
        (["--verify=off", FLOW], ["--verify=off", FLOW]),
        (["--verify", "--json", FLOW], ["--verify=required", "--json", FLOW]),
        (["--no-verify", FLOW, "try"], ["--verify=off", FLOW, "try"]),
        (["--verify", "--no-verify"], ["--verify=required", "--verify=off"]),
    ],
)
def test_the_option_alone_means_required(given, meant) -> None:
    assert list(with_values(given)) == meant


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--verify=tri"], "unknown 'tri'; did you mean 'try'?"),
        (["--verify", "--steps-only"], "leave one out"),
    ],
)
def test_an_invalid_verify_option_is_a_usage_error(command, pipeline, options, message) -> None:
    run = command("run", *options, pipeline())

    assert run.end() == ExitCode.USAGE
    assert message in run.err()
