"""The checks of an environment: Python, what is installed, whether plugins load, the machine; they change nothing."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from eosfw.concurrency import ThreadRuntime
from eosfw.distributions import extras, installed_entry_points, needed_python, requirements, version
from eosfw.errors import ExitCode, with_class
from eosfw.health import Finding, Health, HealthCheck
from eosfw.hookspecs import COMMANDS_GROUP
from eosfw.registry import Plugins
from eosfw.registry.load_timeout import LOAD_TIMEOUT, call_with_timeout
from eosfw.registry.loading import GROUP as PLUGINS_GROUP

_CORE = "eosfw"
_MIN_FREE = 100 << 20
"""Bytes of temporary room below which runs, and Spark above all, fail in the middle."""
_CODES: Mapping[Health, ExitCode] = {
    Health.BROKEN: ExitCode.CONFIGURATION,
    Health.UNAVAILABLE: ExitCode.UNAVAILABLE,
}


class Section(NamedTuple):
    """Findings under one heading."""

    title: str
    findings: Sequence[Finding]


def check_environment(plugins: Plugins, listen: str | None) -> list[Section]:
    """The findings about this environment, then those that plugins report themselves; `listen` is an address to try."""
    machine = [_listen_attempt("127.0.0.1:0", "allow it, or set bootstrap.servers: the embedded broker needs it")]
    if listen is not None:
        machine.append(_listen_attempt(listen, "name another address; port 0 takes a free one"))
    return [
        Section("Python", [_interpreter()]),
        Section("Parts", list(_parts())),
        Section("Plugins", list(_plugins(plugins))),
        Section("Machine", [*machine, _temporary_folder()]),
        *(Section(distribution, findings) for distribution, findings in plugin_findings(plugins) if findings),
    ]


def exit_code(sections: Sequence[Section]) -> ExitCode:
    """The exit code of the worst finding: what is broken has to be repaired, what is unavailable may come back."""
    seen = {finding.health for section in sections for finding in section.findings}
    return next((code for health, code in _CODES.items() if health in seen), ExitCode.OK)


# --- what is installed


def _interpreter() -> Finding:
    running, wanted = ".".join(map(str, sys.version_info[:3])), needed_python()
    found = f"{running} at {sys.executable}"
    if _satisfies(running, wanted):
        return Finding("Python", Health.FINE, found)
    return Finding("Python", Health.BROKEN, f"{found}; eosfw needs {wanted}", "make an environment of a newer one")


def _parts() -> Iterator[Finding]:
    """The framework, the distributions of plugins and commands, and what only an extra of the framework brings."""
    asked = _requirements(_CORE)
    optional = {one.name: extra for extra in extras() for one in asked if _applies(one, extra) and not _applies(one)}
    groups = (PLUGINS_GROUP, COMMANDS_GROUP)
    owners = sorted(one.dist.name for group in groups for one in installed_entry_points(group)[0])
    names = dict.fromkeys([_CORE, *owners, *(name for name in optional if version(name) is not None)])
    for name in names:
        yield from _installed(name, names)
    for name, extra in optional.items():
        if name not in names:
            yield Finding(name, Health.ABSENT, "not installed, optional", f"pip install 'eosfw[{extra}]'")


def _installed(name: str, known: Collection[str]) -> Iterator[Finding]:
    own = version(name)
    if own in (None, "?"):
        yield Finding(name, Health.BROKEN, "its metadata does not say a version", _reinstall(name))
    brings, is_complete = [], True
    for need in _requirements(name):
        if not _applies(need):
            continue
        found = version(need.name)
        if found not in (None, "?") and _satisfies(str(found), need.specifier):
            brings += [f"{need.name} {found}"] if need.name not in known else []
            continue
        is_complete = False
        have = {None: "it is not installed", "?": "its version cannot be read"}.get(found, f"found {found}")
        yield Finding(name, Health.BROKEN, f"{own} needs {need}, but {have}", f"pip install '{need}'")
    if own not in (None, "?") and is_complete:
        yield Finding(name, Health.FINE, f"{own} with {', '.join(brings)}" if brings else f"{own}")


def _requirements(name: str) -> list[Requirement]:
    found = []
    for text in requirements(name):
        try:
            found.append(Requirement(text))
        except InvalidRequirement:  # pip leaves it out, too
            continue
    return found


def _applies(requirement: Requirement, extra: str = "") -> bool:
    """Whether a requirement's marker holds for this interpreter, when `extra` is installed."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _satisfies(found: str, specifiers: SpecifierSet | str) -> bool:
    """Whether a version is one of those that are required; what breaks the syntax of either counts as satisfied."""
    try:
        return SpecifierSet(str(specifiers)).contains(Version(found), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True


def _reinstall(name: str) -> str:
    return f"pip install --force-reinstall {name}"


# --- what loads


def _plugins(plugins: Plugins) -> Iterator[Finding]:
    broken = [(one.distribution, one.entry_point, one.reason) for one in plugins.failures]
    broken += [
        (entry_point.dist.name, f"command {entry_point.name}", reason)
        for entry_point in installed_entry_points(COMMANDS_GROUP)[0]
        if (reason := command_failure(entry_point.load)) is not None
    ]
    for distribution, what, reason in broken:
        remedy = "" if distribution == "?" else f"{_reinstall(distribution)}; or: pip uninstall {distribution}"
        yield Finding(f"{distribution} ({what})", Health.BROKEN, reason, remedy)
    for clash in plugins.clashes():
        what, _, remedy = clash.rpartition(": ")
        yield Finding("clash", Health.BROKEN, what, remedy)
    if not broken and not plugins.clashes():
        yield Finding("plugins", Health.FINE, f"all {len(plugins.all())} load; `eosfw plugins` lists them")


def command_failure(load: Callable[[], Any], timeout: float = LOAD_TIMEOUT) -> str | None:
    """What keeps a command from being imported, or from being so within `timeout` seconds."""
    try:
        call_with_timeout(timeout, load, ThreadRuntime())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 (a module may even call sys.exit when it is imported)
        return with_class(error)
    return None


def plugin_findings(plugins: Plugins, timeout: float = LOAD_TIMEOUT) -> Iterator[tuple[str, list[Finding]]]:
    """The findings that classes of plugins report of themselves, each under its distribution (`eosfw.health`).

    One that does not answer within `timeout` seconds is itself the finding.
    """
    for offered, distribution in plugins.classes():
        if issubclass(offered, HealthCheck):
            yield distribution, _ask(offered, offered.health, timeout)


def _ask(offered: type[Any], health: Callable[[], Any], timeout: float) -> list[Finding]:
    name = str(offered.name)
    try:
        findings: list[Any] = call_with_timeout(timeout, lambda: list(health()), ThreadRuntime())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 (a plugin may even call sys.exit)
        return [Finding(name, Health.BROKEN, f"it failed when asked how it is: {with_class(error)}")]
    if wrong := [one for one in findings if not isinstance(one, Finding)]:
        return [Finding(name, Health.BROKEN, f"it was asked how it is and gave no finding: {wrong[0]!r}")]
    return findings


# --- the machine


def _listen_attempt(address: str, remedy: str) -> Finding:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, int(port)), family=family) as server:
            taken = server.getsockname()
    except (OSError, OverflowError, UnicodeError) as error:
        # The text of Python's error repeats the address; the number of a failed name look-up is no errno.
        number = getattr(error, "errno", None) or 0
        why = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or str(error)
        return Finding("port", Health.BROKEN, f"{address} cannot be listened at: {why}", remedy)
    return Finding("port", Health.FINE, f"{f'{host}:{taken[1]}' if port == '0' else address} can be listened at")


def _temporary_folder() -> Finding:
    subject, remedy = "temporary files", "point TMPDIR at a folder with room that can be written"
    folder = "the folders that are tried"
    try:
        folder = tempfile.gettempdir()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"eosfw")
        free = shutil.disk_usage(folder).free
    except OSError as error:
        why = error.strerror or str(error)
        return Finding(subject, Health.BROKEN, f"nothing can be written to {folder}: {why}", remedy)
    found = f"{free >> 20:,} MiB free in {folder}"
    return Finding(subject, Health.FINE, found) if free >= _MIN_FREE else Finding(subject, Health.BROKEN, found, remedy)
