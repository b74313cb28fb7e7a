"""The connector that is certified, and where its page goes, checked before anything is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from eosfw.cli import reserved_stdout
from eosfw.errors import ConfigError, Problem
from eosfw.registry import load_plugins
from eosfw.runtime import connector_config
from pytest_eos.certificate.certify.command import RECORDS
from pytest_eos.contracts import Source
from pytest_eos.environment.config.options import unwritable
from pytest_eos.simulation.fault_plan import parse_token


class Target(NamedTuple):
    """An installed connector with properties that it takes."""

    name: str
    connector: str
    """`module:Class`."""
    properties: Mapping[str, str]


def checked_target(name: str, properties: Mapping[str, str]) -> Target:
    """The connector of a name, class name or `module:Class`; an error names the nearest, or the wrong property."""
    with reserved_stdout():  # a plugin may print when it is imported
        connector = load_plugins().connector(name)
        kind = type(connector)
        connector_config(connector, connector.name, Source(kind, properties).texts)
    return Target(connector.name, f"{kind.__module__}:{kind.__qualname__}", properties)


def checked_seed(seed: str) -> str:
    """A simulated run as the page of one that failed names it; ConfigError for what is none."""
    try:
        parse_token(seed)
    except ValueError as why:
        raise ConfigError(Problem("--seed", f"{seed!r} is no seed: {why}")) from None
    return seed


def play_again(name: str, properties: Path | None, records: int) -> str:
    """The command that plays a simulated run again, up to the seed."""
    given = [] if properties is None else ["--properties", str(properties)]
    given += [] if records == RECORDS else ["--records", str(records)]
    return f"{shlex.join(['eosfw', 'certify', name, *given, '--seed'])} "


def checked_page(output: Path | None, name: str, properties: Path | None = None) -> Path:
    """Where the page goes; ConfigError for what is no such file, or would replace that of the properties."""
    page = output or Path(f"certificate-{re.sub('[^A-Za-z0-9._-]', '-', name)}.html")
    if page.suffix != ".html":
        raise ConfigError(Problem("--output", f"{page} must end in .html; JSON and badge go beside it"))
    if why := unwritable(page.absolute()):
        raise ConfigError(Problem("--output", f"{page} cannot be written: {why}"))
    if properties is not None and properties.resolve() == page.with_suffix(".json").resolve():
        raise ConfigError(Problem("--output", f"the JSON beside {page} would replace {properties}: take another name"))
    return page
