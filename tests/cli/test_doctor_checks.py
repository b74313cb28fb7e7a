"""The checks of `eosfw doctor` as functions, on a machine that is made to look worse than it is."""

from __future__ import annotations

import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from eosfw.cli.doctor import checks
from eosfw.cli.doctor.checks import Section, check_environment, command_failure, exit_code, plugin_findings
from eosfw.cli.doctor.report import as_text
from eosfw.cli.output.console import TerminalStyle
from eosfw.errors import ExitCode
from eosfw.health import Finding, Health
from eosfw.registry import Plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin


def findings(plugins: Plugins | None = None) -> list[Finding]:
    """What is broken or absent."""
    sections = check_environment(plugins or Plugins([], []), None)
    return [one for section in sections for one in section.findings if one.health is not Health.FINE]


def test_a_too_old_python_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "needed_python", lambda: ">=9.9")

    (python,) = (one for one in findings() if one.subject == "Python")

    assert python.health is Health.BROKEN
    assert python.found.endswith(f"at {sys.executable}; eosfw needs >=9.9")


def test_a_missing_optional_part_is_no_error_and_shows_its_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "extras", lambda: ["some"])
    monkeypatch.setattr(checks, "requirements", lambda _: ["eosfw-some==0.1.0; extra == 'some'", ">= no requirement"])

    (absent,) = (one for one in findings() if one.subject == "eosfw-some")

    assert (absent.health, absent.remedy) == (Health.ABSENT, "pip install 'eosfw[some]'")
    assert exit_code([Section("Parts", [absent])]) is ExitCode.OK


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, "it is not installed"),
        ("2.15.9", "found 2.15.9"),
        ("3.0", "found 3.0"),
        ("3.0rc1", "found 3.0rc1"),
        ("?", "its version cannot be read"),
        ("2.16.1", None),
        ("no version", None),
    ],
)
def test_a_missing_requirement_is_reported_with_its_pip_command(
    monkeypatch: pytest.MonkeyPatch, found: str | None, message: str | None
) -> None:
    asked = ["some-client>=2.16,<3", "other; python_version < '3'"]
    monkeypatch.setattr(checks, "requirements", lambda name: asked if name == "eosfw" else [])
    monkeypatch.setattr(checks, "version", lambda name: found if name == "some-client" else "0.1.0")

    broken = [(one.found, one.remedy) for one in findings() if one.subject == "eosfw"]

    text = f"0.1.0 needs some-client<3,>=2.16, but {message}"
    assert broken == ([] if message is None else [(text, "pip install 'some-client<3,>=2.16'")])


def test_a_name_claimed_twice_is_reported_with_its_remedy() -> None:
    twins = [RegisteredPlugin("backend", type("X", (), {"name": "x"}), PluginSource(owner, "1", "e")) for owner in "ab"]

    (clash,) = (one for one in findings(Plugins(twins, [])) if one.subject == "clash")

    assert (clash.found, clash.remedy) == ("backend 'x' is offered by a 1 and b 1", "uninstall one of them")


def test_a_machine_that_forbids_listening_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "create_server", refuse)

    (port,) = (one for one in findings() if one.subject == "port")

    assert port.found == "127.0.0.1:0 cannot be listened at: Operation not permitted"
    assert "set bootstrap.servers" in port.remedy


@pytest.mark.parametrize(("broken", "message"), [("usage", "5 MiB free in"), ("write", "nothing can be written to")])
def test_a_full_temporary_folder_is_reported(monkeypatch: pytest.MonkeyPatch, broken: str, message: str) -> None:
    def full(**_: object) -> None:
        raise OSError(30, "Read-only file system")

    if broken == "usage":
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5 << 20))
    else:
        monkeypatch.setattr(tempfile, "TemporaryFile", full)

    (room,) = (one for one in findings() if one.subject == "temporary files")

    assert room.found.startswith(message)
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
