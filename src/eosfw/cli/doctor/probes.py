"""Probes of the machine, the interpreter and what is installed."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from eosfw.cli.doctor.environment import (
    DistributionState,
    Environment,
    Interpreter,
    ListenAttempt,
    LoadFailure,
    RequirementState,
    TemporaryFolder,
)
from eosfw.cli.doctor.versions import applies, parse_requirement
from eosfw.concurrency import ThreadRuntime
from eosfw.distributions import extras, installed_entry_points, needed_python, requirements, version
from eosfw.errors import with_class
from eosfw.health import Finding, Health, HealthCheck
from eosfw.hookspecs import COMMANDS_GROUP as COMMANDS
from eosfw.registry import Plugins
from eosfw.registry.load_timeout import LOAD_TIMEOUT, call_with_timeout
from eosfw.registry.loading import GROUP as PLUGINS

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_CORE = "eosfw"
_LOOPBACK = "127.0.0.1:0"


def probe_environment(plugins: Plugins, listen: str | None) -> Environment:
    """Everything that the framework's own checks need to know; changes nothing."""
    return Environment(
        Interpreter(".".join(map(str, sys.version_info[:3])), sys.executable, needed_python()),
        _parts(),
        len(plugins.all()),
        [*_broken_plugins(plugins), *_broken_commands()],
        plugins.clashes(),
        [_listen_attempt(_LOOPBACK, wanted=False), *([_listen_attempt(listen, wanted=True)] if listen else [])],
        _temporary_folder(),
    )


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


# --- what is installed


def _parts() -> list[DistributionState]:
    optional = _optional()
    owners = [
        entry_point.dist.name for group in (PLUGINS, COMMANDS) for entry_point in installed_entry_points(group)[0]
    ]
    names = dict.fromkeys([_CORE, *sorted(owners), *(name for name in optional if version(name) is not None)])
    installed = [DistributionState(name, version(name), _needs(name), optional.get(name)) for name in names]
    absent = [DistributionState(name, None, (), extra) for name, extra in optional.items() if name not in names]
    return installed + absent


def _optional() -> dict[str, str]:
    """The extra of each distribution that only an extra of the framework brings."""
    asked = list(_parsed_requirements(_CORE))
    return {one.name: extra for extra in extras() for one in asked if applies(one, extra) and not applies(one)}


def _needs(name: str) -> list[RequirementState]:
    return [RequirementState(one, version(one.name)) for one in _parsed_requirements(name) if applies(one)]


def _parsed_requirements(name: str) -> Iterator[Requirement]:
    for text in requirements(name):
        parsed = parse_requirement(text)
        if parsed is not None:
            yield parsed


def _broken_plugins(plugins: Plugins) -> Iterator[LoadFailure]:
    for one in plugins.failures:
        yield LoadFailure(one.distribution, f"{one.distribution} ({one.entry_point})", one.reason)


def _broken_commands() -> Iterator[LoadFailure]:
    found, _ = installed_entry_points(COMMANDS)
    for entry_point in found:
        reason = command_failure(entry_point.load)
        if reason is not None:
            yield LoadFailure(entry_point.dist.name, f"{entry_point.dist.name} (command {entry_point.name})", reason)


def command_failure(load: Callable[[], Any], timeout: float = LOAD_TIMEOUT) -> str | None:
    """What keeps a command from being imported, or from being so within `timeout` seconds."""
    try:
        call_with_timeout(timeout, load, ThreadRuntime())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 (a module may even call sys.exit when it is imported)
        return with_class(error)
    return None


# --- the machine


def _listen_attempt(address: str, *, wanted: bool) -> ListenAttempt:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, int(port)), family=family) as server:
            taken = server.getsockname()
    except (OSError, OverflowError, UnicodeError) as error:
        return ListenAttempt(address, _refused(error), wanted)
    return ListenAttempt(address if wanted else f"{taken[0]}:{taken[1]}", None, wanted)


def _refused(error: Exception) -> str:
    # The text of Python's error repeats the address; the number of a failed name look-up is no errno.
    number = getattr(error, "errno", None) or 0
    return os.strerror(number) if number > 0 else getattr(error, "strerror", None) or str(error)


def _temporary_folder() -> TemporaryFolder:
    folder = "the folders that are tried"
    try:
        folder = tempfile.gettempdir()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"eosfw")
        return TemporaryFolder(folder, None, shutil.disk_usage(folder).free)
    except OSError as error:
        return TemporaryFolder(folder, error.strerror or str(error), 0)
