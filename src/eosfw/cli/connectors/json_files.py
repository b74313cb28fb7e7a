"""Files with what a request sends: a connector's properties, or source offsets."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eosfw.config.named_file import read_text
from eosfw.errors import ConfigError, Problem

Offset = Mapping[str, Any]
"""One source partition with its offset, as the REST interface writes it: `{"partition": {}, "offset": {}}`."""


def read_connector(file: str) -> tuple[str, Mapping[str, Any]]:
    """Name and properties of a connector: `{"name": ..., "config": {...}}`, or the properties alone with a name."""
    read = _object(file)
    config = read.get("config", read)
    name = read.get("name")
    if not isinstance(config, dict):
        raise ConfigError(Problem(file, "its `config` is not an object of properties"))
    if not isinstance(name, str) or not name:
        raise ConfigError(Problem(file, "it names no connector: add `name`"))
    return name, config


def read_offsets(file: str) -> Sequence[Offset]:
    """The offsets in `{"offsets": [{"partition": {}, "offset": {}}]}`, which is also what `offsets show` prints."""
    offsets = _object(file).get("offsets")
    if not isinstance(offsets, list) or not all(isinstance(one, dict) for one in offsets):
        raise ConfigError(Problem(file, "it has no list `offsets` of objects with `partition` and `offset`"))
    for number, one in enumerate(offsets):
        if not isinstance(one.get("partition"), dict) or not isinstance(one.get("offset", None), dict | None):
            raise ConfigError(
                Problem(
                    file, f"entry {number} of `offsets` needs an object `partition`, and an object or null `offset`"
                )
            )
    return offsets


def _object(file: str) -> Mapping[str, Any]:
    try:
        text = sys.stdin.read().removeprefix("\ufeff") if file == "-" else read_text(Path(file))
        read = json.loads(text)
    except OSError as why:
        raise ConfigError(Problem(file, f"it cannot be read: {why.strerror}")) from None
    except UnicodeDecodeError:
        raise ConfigError(Problem(file, "it is not UTF-8 text")) from None
    except (ValueError, RecursionError) as why:
        raise ConfigError(Problem(file, f"it is not JSON: {why}")) from None
    if not isinstance(read, dict):
        raise ConfigError(Problem(file, "it is not a JSON object"))
    return read
