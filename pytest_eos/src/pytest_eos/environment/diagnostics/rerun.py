"""The command that runs one test again."""

from __future__ import annotations

import shlex

import pytest

_REPEATED = ("backend", "bootstrap_servers", "command_config", "clock", "security", "patience")
"""The options that decide what a test meets; with several backends its name has one of them."""


def command(item: pytest.Item) -> str:
    """`pytest TEST`, as the shell of this run finds the test, with the options that it was run with; without a seed."""
    here = item.config.invocation_params.dir
    # The path of a node id begins at pytest's rootdir, not where the command was given.
    path = item.path.relative_to(here) if item.path.is_relative_to(here) else item.path
    test = "::".join([path.as_posix(), *item.nodeid.split("::")[1:]])
    given = {name: item.config.getoption(f"eos_{name}") for name in _REPEATED}
    options = [f"--eos-{name.replace('_', '-')}={_text(value)}" for name, value in given.items() if value is not None]
    return shlex.join(["pytest", test, *options])


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
