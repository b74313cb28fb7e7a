"""The options of pytest's command line and configuration file."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pytest_eos.environment.config.clocks import CLOCKS
from pytest_eos.environment.config.markers import PLAINTEXT, PROTOCOLS

DEFAULT_BACKEND = "memory"
REQUIREMENTS = ("kafka", "spark")
_SERVERS = "bootstrap.servers"


@dataclass(frozen=True, slots=True)
class Options:
    """The options that are in force; the command line takes precedence over the configuration file."""

    backends: tuple[str, ...]
    bootstrap_servers: str | None
    client: Mapping[str, str] = field(repr=False)
    """What a client of the running cluster needs beside its address."""
    required: frozenset[str]
    seed: int
    patience: float
    clock: str
    keep: bool
    security: str | None
    """The protection of embedded clusters; None without any."""
    certificate: Path | None
    """Where the page of a certificate goes; None for none."""
    simulation_seed: str | None
    """The only seed that simulated tests play, as a failed one printed it."""
    simulation_seeds: int | None
    """How many seeds each simulated test plays, in place of its marker's number."""
    simulation_coverage: str | None
    """Where the coverage of simulated tests is written as JSON; `-` for the summary alone."""


SETTINGS = pytest.StashKey[Options]()


def add_options(parser: pytest.Parser) -> None:
    """Add the options; each has a counterpart `eos_...` for configuration files."""
    _add_to_command_line(parser)
    parser.addini("eos_backend", "twin of --eos-backend", type="args", default=[])
    parser.addini("eos_bootstrap_servers", "twin of --eos-bootstrap-servers", type="string", default="")
    parser.addini("eos_command_config", "twin of --eos-command-config", type="string", default="")
    parser.addini("eos_require", "twin of --eos-require", type="args", default=[])
    parser.addini("eos_seed", "twin of --eos-seed", type="string", default="")
    parser.addini("eos_patience", "twin of --eos-patience", type="string", default="")
    parser.addini("eos_clock", "twin of --eos-clock", type="string", default="")
    parser.addini("eos_security", "twin of --eos-security", type="string", default="")
    parser.addini("eos_certificate", "twin of --eos-certificate", type="string", default="")
    parser.addini("eos_simulation_seed", "twin of --eos-simulation-seed", type="string", default="")
    parser.addini("eos_simulation_seeds", "twin of --eos-simulation-seeds", type="string", default="")
    parser.addini("eos_simulation_coverage", "twin of --eos-simulation-coverage", type="string", default="")
    parser.addini("eos_keep", "twin of --eos-keep", type="bool", default=False)


def _add_to_command_line(parser: pytest.Parser) -> None:
    group = parser.getgroup("eos", "exactly-once tests (pytest-eos)")
    group.addoption(
        "--eos-backend",
        action="append",
        metavar="NAME",
        help="run tests of the `eos` fixture over these backends: names, repeated or separated by commas; `all` that "
        f"are installed (default: {DEFAULT_BACKEND})",
    )
    group.addoption(
        "--eos-bootstrap-servers",
        metavar="HOST:PORT",
        help="use this running cluster; without it each test gets an embedded cluster of its own",
    )
    group.addoption(
        "--eos-command-config",
        metavar="FILE",
        help="a properties file for the client of the running cluster, with TLS, SASL and perhaps bootstrap.servers, as"
        " Kafka's own commands take it",
    )
    group.addoption(
        "--eos-require",
        action="append",
        metavar="NAME",
        help=f"fail, not skip, where these are missing: {', '.join(REQUIREMENTS)}",
    )
    group.addoption(
        "--eos-seed",
        type=int,
        metavar="N",
        help="what `eos.random` and interleavings in virtual time are drawn from (default: another each run; 0: in"
        " virtual time everybody goes on in order)",
    )
    group.addoption(
        "--eos-patience",
        type=float,
        metavar="SECONDS",
        help="how long to wait for what must happen, and, in real seconds, for a call that computes; one that waits has"
        " five at most (default: 60)",
    )
    group.addoption(
        "--eos-clock",
        choices=CLOCKS,
        metavar="CLOCK",
        help="virtual: seconds cost nothing, a seed repeats the interleaving; real; auto: virtual where everything is"
        " in this process (default)",
    )
    group.addoption(
        "--eos-security",
        choices=PROTOCOLS,
        metavar="PROTOCOL",
        help="how embedded clusters are reached: plaintext (default), ssl (with certificates of both sides),"
        " sasl_plaintext, sasl_ssl (with a user by SCRAM); authority and user are made for each test",
    )
    _add_simulation(group)
    group.addoption(
        "--eos-certificate",
        metavar="FILE.html",
        help="write what the tests have shown of their connectors, and what they have not, as one page, and as JSON"
        " beside it",
    )
    group.addoption(
        "--eos-keep",
        action="store_true",
        help="keep what tests make on the cluster of --eos-bootstrap-servers; without it topics and consumer groups are"
        " deleted at the end of the session, open transactions aborted",
    )


def _add_simulation(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--eos-simulation-seed",
        metavar="SEED",
        help="play this seed alone in simulated tests, as a failed one printed it: a number, or a number, a colon and"
        " the faults that happen",
    )
    group.addoption(
        "--eos-simulation-seeds",
        type=int,
        metavar="N",
        help="how many seeds each simulated test plays, whatever its marker says",
    )
    group.addoption(
        "--eos-simulation-coverage",
        metavar="FILE",
        help="show which faults happened in simulated tests and which rare states were reached, and write that to FILE"
        " as JSON (`-`: show it alone)",
    )


def read_options(config: pytest.Config) -> Options:
    """Read every option; UsageError for a wrong value."""
    address = config.getoption("eos_bootstrap_servers") or config.getini("eos_bootstrap_servers") or None
    client = _command_config(config)
    from_file = client.pop(_SERVERS, None)
    if client and not (address or from_file):
        raise pytest.UsageError(f"--eos-command-config: it has no {_SERVERS}; add it, or --eos-bootstrap-servers")
    return Options(
        backends=tuple(dict.fromkeys(_words(config, "backend"))) or (DEFAULT_BACKEND,),
        bootstrap_servers=address or from_file,
        client=client,
        required=_required(config),
        seed=_seed(config),
        patience=_patience(config),
        clock=_clock(config),
        security=_security(config),
        certificate=_certificate(config),
        simulation_seed=_text(config, "simulation_seed"),
        simulation_seeds=_simulation_seeds(config),
        simulation_coverage=_simulation_coverage(config),
        keep=bool(config.getoption("eos_keep") or config.getini("eos_keep")),
    )


def _command_config(config: pytest.Config) -> dict[str, str]:
    given = config.getoption("eos_command_config")
    folder = config.invocation_params.dir if given else config.inipath.parent if config.inipath else config.rootpath
    if not (name := given or config.getini("eos_command_config")):
        return {}
    # Few runs need these.
    from eosfw.config.properties_file import parse_properties
    from eosfw.config.security import security_settings
    from eosfw.errors import ConfigError
    from eosfw.security import require_usable_files

    try:
        properties = parse_properties((folder / Path(name).expanduser()).read_text(encoding="utf-8"))
        # A client would find the same. But pytest shows arguments where it does, which are passwords and keys here.
        require_usable_files(security_settings(properties))
    except OSError as why:
        raise pytest.UsageError(f"--eos-command-config: {name} cannot be read: {why.strerror}") from None
    except (ValueError, ConfigError) as why:
        raise pytest.UsageError(f"--eos-command-config: {name}: {why}") from None
    return properties


def _text(config: pytest.Config, name: str) -> str | None:
    return config.getoption(f"eos_{name}") or config.getini(f"eos_{name}") or None


def _words(config: pytest.Config, name: str) -> list[str]:
    given = config.getoption(f"eos_{name}") or config.getini(f"eos_{name}")
    return [word.strip() for text in given for word in text.split(",") if word.strip()]


def _required(config: pytest.Config) -> frozenset[str]:
    words = frozenset(_words(config, "require"))
    if unknown := sorted(words - set(REQUIREMENTS)):
        raise pytest.UsageError(f"--eos-require: {', '.join(unknown)} is unknown; there are: {', '.join(REQUIREMENTS)}")
    return words


def _security(config: pytest.Config) -> str | None:
    given: str = config.getoption("eos_security") or config.getini("eos_security") or PLAINTEXT
    if given not in PROTOCOLS:
        raise pytest.UsageError(f"eos_security: {given!r} is unknown; there are: {', '.join(PROTOCOLS)}")
    return None if given == PLAINTEXT else given


def _certificate(config: pytest.Config) -> Path | None:
    given: str = config.getoption("eos_certificate") or config.getini("eos_certificate")
    if not given:
        return None
    if Path(given).suffix != ".html":
        raise pytest.UsageError(f"--eos-certificate: {given!r} must end in .html; the JSON goes beside it")
    return _writable("certificate", given)


def _simulation_coverage(config: pytest.Config) -> str | None:
    given = _text(config, "simulation_coverage")
    return given if given in (None, "-") else str(_writable("simulation_coverage", given))


def _writable(name: str, given: str) -> Path:
    """The path of a file that is written when the session is over, which must not be the time to refuse it."""
    path = Path(given).absolute()
    if why := unwritable(path):
        raise pytest.UsageError(f"--eos-{name.replace('_', '-')}: {given!r} cannot be written: {why}")
    return path


def unwritable(path: Path) -> str:
    """Why a file of this absolute path cannot be written; empty if it can. What is missing above it is created."""
    if path.is_dir() or any(above.is_file() for above in path.parents):
        return "it is a folder, or lies below a file"
    there = next(above for above in path.parents if above.exists())
    return "" if os.access(there, os.W_OK | os.X_OK) else f"{there} takes no new files"


def _patience(config: pytest.Config) -> float:
    seconds = _number(config, "patience", float)
    if seconds is not None and not 0 < seconds < math.inf:
        raise pytest.UsageError(f"eos_patience: must be above 0, not {seconds:g}")
    return 60.0 if seconds is None else float(seconds)


def _simulation_seeds(config: pytest.Config) -> int | None:
    seeds = _number(config, "simulation_seeds", int)
    if seeds is not None and seeds < 1:  # a test that plays no seed would pass
        raise pytest.UsageError(f"eos_simulation_seeds: must be 1 or more, not {seeds}")
    return None if seeds is None else int(seeds)


def _clock(config: pytest.Config) -> str:
    given: str = config.getoption("eos_clock") or config.getini("eos_clock") or CLOCKS[0]
    if given not in CLOCKS:
        raise pytest.UsageError(f"eos_clock = {given!r} is unknown; there are: {', '.join(CLOCKS)}")
    return given


def _seed(config: pytest.Config) -> int:
    workerinput = getattr(config, "workerinput", None)  # pytest-xdist: all workers share the controller's seed
    if workerinput is not None and "eos_seed" in workerinput:
        return int(workerinput["eos_seed"])
    seed = _number(config, "seed", int)
    return random.randrange(2**32) if seed is None else int(seed)  # noqa: S311 - repeatable on purpose, no secret


def _number(config: pytest.Config, name: str, kind: type[int | float]) -> float | None:
    given = config.getoption(f"eos_{name}")
    if given is not None:
        return float(given) if kind is float else given
    text = config.getini(f"eos_{name}")
    try:
        return kind(text) if text else None
    except ValueError:
        raise pytest.UsageError(f"eos_{name} = {text!r} is no number") from None
