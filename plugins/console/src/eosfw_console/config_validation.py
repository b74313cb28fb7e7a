"""What a worker says of a connector's properties: their definitions, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

from eosfw_console.worker_client import WorkerClient

FIXED: Final = ("name", "connector.class")
"""Properties that make a connector another one when they change."""
_HIDDEN: Final = "[hidden]"
_SHORTEST: Final = 4
"""Shorter values are no secrets, and stand in any text by chance."""


@dataclass(frozen=True, slots=True)
class Property:
    """A property that the worker knows."""

    name: str
    definition: Mapping[str, Any]
    recommended: Sequence[str]
    visible: bool

    @property
    def is_secret(self) -> bool:
        """Whether its value is never sent to a browser."""
        return bool(self.definition["type"] == "PASSWORD")


@dataclass(frozen=True, slots=True)
class Validation:
    """The outcome of a validation, without secrets."""

    groups: Sequence[str]
    properties: Mapping[str, Property]
    errors: Mapping[str, Sequence[str]]
    """By the name of a property, which may be unknown."""
    hidden: frozenset[str] = frozenset()
    """Names that are hidden whatever their definitions say."""

    def is_hidden(self, name: str) -> bool:
        """Whether a value is a secret, or may be one: of a property that nobody defines, such as one misspelt."""
        known = self.properties.get(name)
        return name in self.hidden or (name not in FIXED and (known is None or known.is_secret))


def validated(client: WorkerClient, config: Mapping[str, str], hidden: frozenset[str] = frozenset()) -> Validation:
    """Ask the worker to validate properties; RestError if it does not know the connector's plugin.

    What was hidden before stays so: with another transformation, say, what was a password may be a plain text.
    """
    plugin = quote(config.get("connector.class", ""), safe="")
    found = client.change("PUT", f"/connector-plugins/{plugin}/config/validate", dict(config))
    properties = {
        one["definition"]["name"]: Property(
            one["definition"]["name"], one["definition"], one["value"]["recommended_values"], one["value"]["visible"]
        )
        for one in found["configs"]
        if one["definition"] is not None
    }
    validation = Validation(found["groups"], properties, {}, hidden)
    errors = {
        one["value"]["name"]: [without_secrets(text, config, validation) for text in one["value"]["errors"]]
        for one in found["configs"]
        if one["value"]["errors"]
    }
    return replace(validation, errors=errors)


def without_secrets(text: str, config: Mapping[str, str], validation: Validation) -> str:
    """A message in which a plugin may have repeated what it was given."""
    secrets = {value for name, value in config.items() if validation.is_hidden(name) and len(value) >= _SHORTEST}
    # The longest first: one secret may be a part of another.
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return text
