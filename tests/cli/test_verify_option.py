"""`eosfw run --verify`: alone, with a value, with contradicting options."""

from __future__ import annotations

import json

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


def test_a_required_verification_that_fails_ends_with_one_yet_with_a_summary(command, pipeline, embedded) -> None:
    """A source that lost records since: today's exit code would say that all is well."""
    file = pipeline(
        cluster=f'"bootstrap.servers" = "{embedded}"', group="shrinks", topic="shrinks", more=identified(600)
    )
    assert command("run", "--quiet", file).end() == 0
    file = pipeline(
        cluster=f'"bootstrap.servers" = "{embedded}"', group="shrinks", topic="shrinks", more=identified(140)
    )

    required = command("run", "--json", "--verify", file)
    assert required.end() == ExitCode.VERDICT_FAILED
    tried = command("run", "--quiet", "--verify=try", file)
    assert tried.end() == 0
    summary = json.loads(required.out())
    assert (summary["verify"], summary["passed"], summary["duplicates"]) == ("required", False, None)
    assert "could not be replayed" in summary["unverified"][0]
    assert "not verified; " in tried.out()


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


def identified(records: int) -> str:
    return f'records = {records}\n"eosfw.identity" = "field:n"'
