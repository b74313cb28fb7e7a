"""Where a connector is certified: the cluster, the client and the clock, and what cannot be tried there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from eosfw.cli import reserved_stdout
from eosfw.config.properties_file import parse_properties
from eosfw.errors import ConfigError, Problem
from eosfw.registry import load_plugins

_MEMORY: Final = "memory"
_OF_EMBEDDED: Final = {
    "faults": "a broker that can be asked to lose answers and to restart",
    "rights": "a broker with users that the test makes",
    "simulation": "a broker in the same process and in virtual time",
}
"""Parts that the embedded broker alone can do, each with what it needs."""


@dataclass(frozen=True, slots=True)
class CertifyEnvironment:
    """Options of pytest that choose where the tests run, and what they cannot try there."""

    arguments: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Parts, each with the reason."""


def checked_environment(
    servers: str | None, command_config: Path | None, backend: str, clock: str
) -> CertifyEnvironment:
    """The environment of these options; ConfigError, or PluginError with the nearest backend, for a wrong one."""
    with reserved_stdout():  # a plugin may print when it is imported
        load_plugins().backend(backend)
    found = CertifyEnvironment([f"--eos-clock={clock}", f"--eos-backend={backend}"])
    if clock == "real":
        found.left_out["simulation"] = "with --clock real: simulated runs need virtual time"
    elif backend != _MEMORY:
        found.left_out["simulation"] = f"backend {backend} cannot be simulated: its client has threads of its own"
    if backend != _MEMORY:
        found.left_out["groups"] = f"backend {backend}: its threads go on with heartbeats while its worker sleeps"
    if command_config is not None:
        found.arguments.append(f"--eos-command-config={command_config.absolute()}")
        servers = servers or _properties(command_config).get("bootstrap.servers")
        if servers is None:
            raise ConfigError(Problem("--command-config", "it names no bootstrap.servers; add --bootstrap-servers"))
    if servers is not None:
        found.arguments.append(f"--eos-bootstrap-servers={servers}")
        where = f"the cluster at {servers}"
        found.left_out.update({part: f"not on {where}: it needs {what}" for part, what in _OF_EMBEDDED.items()})
    return found


def _properties(file: Path) -> dict[str, str]:
    try:
        return parse_properties(file.read_text(encoding="utf-8"))
    except OSError as why:
        raise ConfigError(Problem("--command-config", f"{file} cannot be read: {why.strerror}")) from None
    except ValueError as why:
        raise ConfigError(Problem("--command-config", f"{file}: {why}")) from None
