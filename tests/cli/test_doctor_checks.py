"""The checks of `eosfw doctor` as functions, without installing or starting anything."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from packaging.requirements import Requirement

from eosfw.cli.doctor.checks import Section, check_environment, exit_code
from eosfw.cli.doctor.environment import (
    DistributionState,
    Environment,
    Interpreter,
    ListenAttempt,
    LoadFailure,
    RequirementState,
    TemporaryFolder,
)
from eosfw.cli.doctor.probes import command_failure, plugin_findings
from eosfw.cli.doctor.report import as_text
from eosfw.cli.doctor.versions import applies, parse_requirement, satisfies
from eosfw.cli.output.console import TerminalStyle
from eosfw.errors import ExitCode
from eosfw.health import Finding, Health
from eosfw.registry import Plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin

CLIENT = Requirement("some-client>=2.16,<3")
FINE = Environment(
    Interpreter("3.12.1", "/venv/bin/python", ">=3.11"),
    [
        DistributionState("eosfw", "0.1.0"),
        DistributionState("eosfw-some", "0.1.0", [RequirementState(CLIENT, "2.16.1")], "some"),
    ],
    3,
    [],
    [],
    [ListenAttempt("127.0.0.1:4000", None, wanted=False)],
    TemporaryFolder("/tmp", None, 1 << 40),
)


def findings(**changed: object) -> list[Finding]:
    """The findings that are no success."""
    findings = [one for section in check_environment(replace(FINE, **changed)) for one in section.findings]
    return [one for one in findings if one.health is not Health.FINE]


def test_a_complete_installation_has_no_findings() -> None:
    assert findings() == []
    assert exit_code(check_environment(FINE)) is ExitCode.OK


def test_a_too_old_python_is_reported() -> None:
    (python,) = findings(interpreter=Interpreter("3.10.13", "/usr/bin/python3", ">=3.11"))

    assert (python.subject, python.health) == ("Python", Health.BROKEN)
    assert "3.10.13 at /usr/bin/python3; eosfw needs >=3.11" in python.found


def test_a_missing_optional_part_is_no_error_and_shows_its_pip_command() -> None:
    parts = [DistributionState("eosfw-some", None, (), "some")]

    (absent,) = findings(parts=parts)

    assert (absent.health, absent.remedy) == (Health.ABSENT, "pip install 'eosfw[some]'")
    assert exit_code(check_environment(replace(FINE, parts=parts))) is ExitCode.OK


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, "0.1.0 needs some-client<3,>=2.16, but it is not installed"),
        ("2.15.9", "0.1.0 needs some-client<3,>=2.16, but found 2.15.9"),
        ("3.0", "0.1.0 needs some-client<3,>=2.16, but found 3.0"),
        ("?", "0.1.0 needs some-client<3,>=2.16, but its version cannot be read"),
    ],
)
def test_a_missing_requirement_is_reported_with_its_pip_command(found, message) -> None:
    (broken,) = findings(parts=[DistributionState("eosfw-some", "0.1.0", [RequirementState(CLIENT, found)])])

    assert broken == Finding("eosfw-some", Health.BROKEN, message, "pip install 'some-client<3,>=2.16'")


def test_a_part_without_a_version_is_reported() -> None:
    (broken,) = findings(parts=[DistributionState("half", "?")])

    assert broken.remedy == "pip install --force-reinstall half"


def test_a_broken_plugin_is_reported_with_distribution_and_reason() -> None:
    (broken,) = findings(failures=[LoadFailure("acme", "acme (door)", "ImportError: no left_pad")])

    assert (broken.subject, broken.found) == ("acme (door)", "ImportError: no left_pad")
    assert "pip uninstall acme" in broken.remedy


def test_a_name_claimed_twice_is_reported_with_its_remedy() -> None:
    (clash,) = findings(clashes=["backend 'x' is offered by a 1 and b 2: uninstall one of them"])

    assert (clash.found, clash.remedy) == ("backend 'x' is offered by a 1 and b 2", "uninstall one of them")


@pytest.mark.parametrize("wanted", [True, False])
def test_an_unusable_listen_address_is_reported(wanted) -> None:
    (port,) = findings(listen_attempts=[ListenAttempt("127.0.0.1:9092", "Address already in use", wanted)])

    assert port.found == "127.0.0.1:9092 cannot be listened at: Address already in use"
    assert ("port 0 takes a free one" in port.remedy) is wanted


@pytest.mark.parametrize(
    "temporary_folder",
    [TemporaryFolder("/tmp", "Read-only file system", 1 << 40), TemporaryFolder("/tmp", None, 5 << 20)],
)
def test_a_full_temporary_folder_is_reported(temporary_folder) -> None:
    (room,) = findings(temporary_folder=temporary_folder)

    assert room.subject == "temporary files"
    assert "TMPDIR" in room.remedy


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        ([Health.FINE, Health.ABSENT], ExitCode.OK),
        ([Health.FINE, Health.UNAVAILABLE], ExitCode.UNAVAILABLE),
        ([Health.UNAVAILABLE, Health.BROKEN], ExitCode.CONFIGURATION),
    ],
)
def test_the_exit_code_is_that_of_the_most_urgent_finding(seen, code) -> None:
    """A cluster may recover by itself; a wrong configuration needs a change."""
    assert exit_code([Section("s", [Finding("x", one, "")]) for one in seen]) is code


@pytest.mark.parametrize(
    ("version", "asked", "fits"),
    [
        ("4.3.0", ">=4.0,<4.4", True),
        ("4.4.0", ">=4.0,<4.4", False),
        ("4.4.0rc1", ">=4.0,<4.4", False),
        ("4.3.0rc1", ">=4.0,<4.4", True),
        ("3.5.8", ">=4.0,<4.4", False),
        ("0.6.5", "==0.6.*", True),
        ("0.7", "==0.6.*", False),
        ("0.7", "!=0.7.*", False),
        ("1.0", "==1.0.0", True),
        ("2.9.post0", ">=2.7", True),
        ("1.4.2", "~=1.4", True),
        ("2.0", "~=1.4", False),
        ("1.5", "~=1.4.1", False),
        ("10.0", ">=9", True),
        ("whatever", ">=9", True),
        ("1.0", "===1.0", True),
        ("1.0", "", True),
    ],
)
def test_versions_are_compared_as_pip_does(version, asked, fits) -> None:
    assert satisfies(version, asked) is fits


@pytest.mark.parametrize(
    ("text", "extra", "holds"),
    [
        ("rich", "", True),
        ("foo[bar] (>=1) ; python_version < '3'", "", False),
        ("foo>=1; python_version >= '3'", "", True),
        ("eosfw-x==0.1.0; extra == 'x'", "", False),
        ("eosfw-x==0.1.0; extra == 'x'", "x", True),
        ("foo @ file:///tmp/foo.whl", "", True),
    ],
)
def test_a_requirement_counts_where_its_marker_holds(text, extra, holds) -> None:
    assert applies(parse_requirement(text), extra) is holds


def test_a_requirement_that_breaks_the_syntax_is_left_out() -> None:
    assert parse_requirement(">=1") is None


def offering(health: object) -> Plugins:
    kind = type("Engine", (), {"name": "engine", "health": health})
    return Plugins([RegisteredPlugin("step engine", kind, PluginSource("acme", "1", "door"))], [])


def test_findings_of_a_plugin_are_shown_under_its_distribution() -> None:
    mine = Finding("engine oil", Health.BROKEN, "too little", "fill up")

    assert list(plugin_findings(offering(staticmethod(lambda: [mine])))) == [("acme", [mine])]


@pytest.mark.parametrize("health", [lambda: 1 / 0, sys.exit, lambda: ["fine"], lambda: None])
def test_a_plugin_that_fails_when_asked_is_itself_the_finding(health) -> None:
    ((owner, (finding,)),) = plugin_findings(offering(staticmethod(health)))

    assert (owner, finding.subject, finding.health) == ("acme", "engine", Health.BROKEN)


HUNG = "it did not answer within 0.05 s; what hangs there is left alone"


def test_a_plugin_that_hangs_when_asked_is_itself_the_finding(hanging: Callable[[], Any]) -> None:
    """A plugin that hangs must not hang the doctor."""
    ((owner, (finding,)),) = plugin_findings(offering(staticmethod(hanging)), timeout=0.05)

    assert (owner, finding.subject, finding.health) == ("acme", "engine", Health.BROKEN)
    assert HUNG in finding.found


def test_a_command_that_hangs_when_imported_is_named(hanging: Callable[[], Any]) -> None:
    """The other checks still run."""
    assert HUNG in str(command_failure(hanging, timeout=0.05))


@pytest.fixture
def hanging() -> Iterator[Callable[[], Any]]:
    """A function that returns only after the test."""
    over = threading.Event()
    yield lambda: over.wait(60)
    over.set()


def test_on_a_terminal_words_are_wrapped_and_commands_are_not() -> None:
    long = Finding("x", Health.BROKEN, "word " * 40, "pip install " + "word-" * 40)
    sections = [Section("S", [long])]

    text = as_text(sections, TerminalStyle(width=80, colours=True))

    lines = text.splitlines()
    assert [line for line in lines if len(line) > 100] == [line for line in lines if "-> pip install" in line]
    assert "\x1b[1;31mBROKEN" in text
    assert "\x1b" not in as_text(sections, TerminalStyle(width=80))
