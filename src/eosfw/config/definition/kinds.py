"""Types of properties that Kafka's `ConfigDef` has validators for."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

from eosfw.config.definition.config_def import Int, List, String

_MAX_GROUP = 200
"""Topics are named after the group; a topic's name has at most 249 characters."""
_MAX_TOPIC = 249
CLUSTERS_OWN: Final = frozenset(
    {"__cluster_metadata", "__consumer_offsets", "__share_group_state", "__transaction_state"}
)
"""The topics in which a cluster keeps its own state."""
_LEGAL = re.compile(r"[A-Za-z0-9._-]+")


class GroupId(String):
    """The name of a worker group; part of topic names, so it takes a topic's characters."""

    __slots__ = ()

    def parse(self, text: str) -> str:
        return _legal(text, _MAX_GROUP)


class PluginClass(String):
    """The name of a plugin, or of its class."""

    __slots__ = ()


class TopicName(String):
    """A legal topic name."""

    __slots__ = ()

    def parse(self, text: str) -> str:
        if text in (".", ".."):
            raise ValueError("a topic cannot be called '.' or '..'")
        return _legal(text, _MAX_TOPIC)


class ConnectorName(String):
    """The name of a connector; part of transactional ids and of keys in the config topic."""

    __slots__ = ()

    trims: ClassVar[bool] = False
    """A name with blanks at its ends is refused: whoever asks for it by REST writes it as it is."""

    def parse(self, text: str) -> str:
        name = String.parse(self, text)
        if len(name) > _MAX_GROUP:
            raise ValueError(f"must be at most {_MAX_GROUP} characters long, not {len(name)}")
        if not name.isprintable() or name != name.strip() or "/" in name:
            raise ValueError("must be printable, without '/' and without blanks at its ends")
        return name


class Identity(String):
    """What identifies a record for the verdict: `none`, `headers`, `value` or `field:NAME`."""

    __slots__ = ()

    def parse(self, text: str) -> str:
        word, colon, name = text.strip().partition(":")
        if word == "field" and colon and name.strip():
            return f"field:{name.strip()}"
        if text.strip() in ("none", "headers", "value"):
            return text.strip()
        raise ValueError("must be one of: none, headers, value, field:NAME")


class Aliases(List):
    """Names of a user's own, separated by commas, each once."""

    __slots__ = ()

    def parse(self, text: str) -> tuple[str, ...]:
        names = List.parse(self, text)
        if len(set(names)) < len(names):
            raise ValueError("Duplicate alias provided.")
        return names


class AllowedPaths(List):
    """Absolute paths, separated by commas; what they are, and all that lies below them, is allowed."""

    def parse(self, text: str) -> tuple[str, ...]:
        paths = List.parse(self, text)
        for path in paths:
            if not os.path.isabs(path):
                raise ValueError("every path must be absolute")
        return paths


def allowed_path(path: str, roots: Sequence[str]) -> Path | None:
    """The real path, once `..` and symbolic links are followed, if it lies in one of the roots; else None."""
    if "\0" in path or not os.path.isabs(path):
        return None
    real = Path(os.path.realpath(path))
    return real if any(real.is_relative_to(os.path.realpath(root)) for root in roots) else None


class ReplicationFactor(Int):
    """The replicas of a topic; -1 is the default of the cluster."""

    __slots__ = ()

    def parse(self, text: str) -> int:
        number = Int.parse(self, text)
        if number != -1 and not 1 <= number <= 32767:
            raise ValueError("Value must be -1 (the cluster's default) or between 1 and 32767")
        return number


def _legal(text: str, longest: int) -> str:
    if not text:
        raise ValueError("String must be non-empty")
    if len(text) > longest:
        raise ValueError(f"must be at most {longest} characters long, not {len(text)}")
    if not _LEGAL.fullmatch(text):
        raise ValueError("may only hold letters a-z and A-Z, digits, '.', '_' and '-'")
    return text
