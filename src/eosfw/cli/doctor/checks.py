"""The checks of an environment that was probed: pure decisions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from eosfw.cli.doctor.environment import (
    DistributionState,
    Environment,
    Interpreter,
    ListenAttempt,
    LoadFailure,
    RequirementState,
    TemporaryFolder,
)
from eosfw.cli.doctor.versions import satisfies
from eosfw.errors import ExitCode
from eosfw.health import Finding, Health

_MIN_FREE = 100 << 20
"""Bytes of temporary room below which runs, and Spark above all, fail in the middle."""


class Section(NamedTuple):
    """Findings under one heading."""

    title: str
    findings: Sequence[Finding]


def check_environment(environment: Environment) -> list[Section]:
    """The findings about an environment, without those that plugins report themselves."""
    machine = [*map(_listen_attempt, environment.listen_attempts), _temporary_folder(environment.temporary_folder)]
    return [
        Section("Python", [_interpreter(environment.interpreter)]),
        Section("Parts", list(_parts(environment.parts))),
        Section("Plugins", list(_plugins(environment))),
        Section("Machine", machine),
    ]


def exit_code(sections: Sequence[Section]) -> ExitCode:
    """The exit code of the worst finding: what is broken has to be repaired, what is unavailable may come back."""
    seen = {finding.health for section in sections for finding in section.findings}
    return next((code for health, code in _CODES.items() if health in seen), ExitCode.OK)


_CODES: Mapping[Health, ExitCode] = {
    Health.BROKEN: ExitCode.CONFIGURATION,
    Health.UNAVAILABLE: ExitCode.UNAVAILABLE,
}


def _interpreter(python: Interpreter) -> Finding:
    found = f"{python.version} at {python.path}"
    if satisfies(python.version, python.wanted):
        return Finding("Python", Health.FINE, found)
    return Finding(
        "Python", Health.BROKEN, f"{found}; eosfw needs {python.wanted}", "make an environment of a newer one"
    )


def _parts(parts: Sequence[DistributionState]) -> Iterator[Finding]:
    names = {part.name for part in parts}
    for part in parts:
        yield from _part(part, names)


def _part(part: DistributionState, known: Collection[str]) -> Iterator[Finding]:
    if part.version is None:
        yield Finding(part.name, Health.ABSENT, "not installed, optional", f"pip install 'eosfw[{part.extra}]'")
        return
    if part.version == "?":
        yield Finding(part.name, Health.BROKEN, "its metadata does not say a version", _reinstall(part.name))
    unmet = [need for need in part.needs if not _is_met(need)]
    for need in unmet:
        yield Finding(part.name, Health.BROKEN, _unmet_text(part, need), f"pip install '{need.requirement}'")
    if part.version != "?" and not unmet:
        brings = ", ".join(
            f"{need.requirement.name} {need.found}" for need in part.needs if need.requirement.name not in known
        )
        yield Finding(part.name, Health.FINE, part.version + (f" with {brings}" if brings else ""))


def _is_met(need: RequirementState) -> bool:
    return need.found not in (None, "?") and satisfies(str(need.found), need.requirement.specifier)


def _unmet_text(part: DistributionState, need: RequirementState) -> str:
    have = {None: "it is not installed", "?": "its version cannot be read"}.get(need.found, f"found {need.found}")
    return f"{part.version} needs {need.requirement}, but {have}"


def _plugins(environment: Environment) -> Iterator[Finding]:
    for failure in environment.failures:
        yield Finding(failure.subject, Health.BROKEN, failure.reason, _remedy(failure))
    for clash in environment.clashes:
        what, _, remedy = clash.rpartition(": ")
        yield Finding("clash", Health.BROKEN, what, remedy)
    if not environment.failures and not environment.clashes:
        yield Finding("plugins", Health.FINE, f"all {environment.plugins} load; `eosfw plugins` lists them")


def _remedy(failure: LoadFailure) -> str:
    if failure.distribution == "?":
        return ""
    return f"{_reinstall(failure.distribution)}; or: pip uninstall {failure.distribution}"


def _reinstall(name: str) -> str:
    return f"pip install --force-reinstall {name}"


def _listen_attempt(tried: ListenAttempt) -> Finding:
    subject = "port"
    if tried.reason is None:
        return Finding(subject, Health.FINE, f"{tried.address} can be listened at")
    remedy = (
        "name another address; port 0 takes a free one"
        if tried.wanted
        else "the embedded broker needs a loopback port: allow it, or set bootstrap.servers"
    )
    return Finding(subject, Health.BROKEN, f"{tried.address} cannot be listened at: {tried.reason}", remedy)


def _temporary_folder(temporary_folder: TemporaryFolder) -> Finding:
    subject, remedy = "temporary files", "point TMPDIR at a folder with room that can be written"
    if temporary_folder.reason is not None:
        return Finding(
            subject,
            Health.BROKEN,
            f"nothing can be written to {temporary_folder.folder}: {temporary_folder.reason}",
            remedy,
        )
    found = f"{temporary_folder.free >> 20:,} MiB free in {temporary_folder.folder}"
    if temporary_folder.free < _MIN_FREE:
        return Finding(subject, Health.BROKEN, found, remedy)
    return Finding(subject, Health.FINE, found)
