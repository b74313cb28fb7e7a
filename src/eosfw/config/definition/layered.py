"""Definitions that also accept other properties by prefix, or refuse them as not supported yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eosfw.config.definition.config_def import ConfigDef, Key, nearest
from eosfw.errors import Problem
from eosfw.text import shown


class LayeredDef(ConfigDef):
    """A definition that accepts properties under `prefixes`, and names those of Kafka Connect that are not supported.

    `not_yet` has names, and prefixes that end in a dot. `refused` has names that no prefix may carry, with the reason.
    """

    def __init__(
        self,
        *keys: Key,
        prefixes: tuple[str, ...] = (),
        not_yet: tuple[str, ...] = (),
        refused: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(*keys)
        self.prefixes = prefixes
        self.not_yet = not_yet
        self.refused = refused or {}

    def __add__(self, other: ConfigDef) -> LayeredDef:
        keys = (*self.keys.values(), *(key for name, key in other.keys.items() if name not in self.keys))
        not_yet = tuple(name for name in self.not_yet if name not in other.keys)
        return type(self)(*keys, prefixes=self.prefixes, not_yet=not_yet, refused=self.refused)

    def read(self, properties: Mapping[str, str], where: str = "") -> tuple[dict[str, Any], list[Problem]]:
        own = {name: text for name, text in properties.items() if not self._lets_through(name)}
        return super().read(own, where)

    def unknown(self, name: str) -> str:
        if reason := self._refusal(name):
            return f"{name!r} {reason}"
        if name in self.not_yet or any(name.startswith(one) for one in self.not_yet if one.endswith(".")):
            return f"{name!r} is a property of Kafka Connect that is not supported yet: remove it"
        if name in self.prefixes:
            return f"{name!r} names no property: write what it is for behind the dot"
        near = nearest(name, (*self.keys, *_respelt(name, self.prefixes)))
        return f"unknown configuration {shown(name)}" + (f"; did you mean {near!r}?" if near else "")

    def _lets_through(self, name: str) -> bool:
        if name in self.keys or name in self.not_yet or self._refusal(name):
            return False
        return any(name.startswith(prefix) and name != prefix for prefix in self.prefixes)

    def _refusal(self, name: str) -> str | None:
        return next((self.refused.get(name.removeprefix(one)) for one in self.prefixes if name.startswith(one)), None)


def originals_with_prefix(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The properties under a prefix, without it (Kafka's `AbstractConfig.originalsWithPrefix`)."""
    return {name.removeprefix(prefix): text for name, text in properties.items() if name.startswith(prefix)}


def _respelt(name: str, prefixes: tuple[str, ...]) -> list[str]:
    # `producer.overide.acks` is most similar to `producer.override.` with the last part of what the user wrote.
    parts = name.split(".")
    heads = [(prefix, parts[: prefix.count(".")], parts[prefix.count(".") :]) for prefix in prefixes]
    return [prefix + ".".join(rest) for prefix, head, rest in heads if rest and nearest(".".join(head), [prefix[:-1]])]
