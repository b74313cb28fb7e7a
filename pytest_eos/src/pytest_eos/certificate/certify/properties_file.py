"""The file with the properties of the connector under test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eosfw.config.properties_file import parse_properties
from eosfw.errors import ConfigError, Problem

_OF_THE_TEST = ("name", "connector.class")
"""What such files hold for Kafka Connect; here the command line names the connector."""


def read_properties(path: Path) -> dict[str, str]:
    """The properties of a `.json` file, as Kafka Connect's REST interface takes it, or of a `.properties` file.

    ConfigError says what is wrong with the file, and never shows a value.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        found = _from_json(path, text) if path.suffix == ".json" else parse_properties(text)
    except FileNotFoundError:
        raise ConfigError(Problem(str(path), "there is no such file")) from None
    except UnicodeDecodeError:
        raise ConfigError(Problem(str(path), "is no UTF-8")) from None
    except OSError as why:
        raise ConfigError(Problem(str(path), f"cannot be read: {why.strerror}")) from None
    except json.JSONDecodeError as why:
        raise ConfigError(Problem(str(path), f"is no JSON: {why.msg} in line {why.lineno}")) from None
    except ValueError as why:
        raise ConfigError(Problem(str(path), f"cannot be read: {why}")) from None
    return {name: value for name, value in found.items() if name not in _OF_THE_TEST}


def _from_json(path: Path, text: str) -> dict[str, str]:
    read: Any = json.loads(text)
    config = read.get("config", read) if isinstance(read, Mapping) else None
    if not isinstance(config, Mapping):
        raise ConfigError(Problem(str(path), "is no JSON object of properties"))
    if odd := [name for name, value in config.items() if isinstance(value, Mapping | list) or value is None]:
        raise ConfigError(Problem(str(path), f"the value of {odd[0]} is no text, number or boolean"))
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in config.items()}
