"""Which properties hold secrets: those of type password, and those whose names say so."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eosfw.config.definition.config_def import ConfigDef, Password

__all__ = ["secret_values"]

# Properties of clients and parts have no definition here; these endings are of Kafka's properties of type password.
_NAMES = re.compile(r"(password|secret|jaas\.config|user\.info|ssl\.key\.pem|keystore\.key|(^|\.)token)$")


def secret_values(properties: Mapping[str, str], definition: ConfigDef | None = None) -> frozenset[str]:
    """The values of the properties that hold secrets, by a definition, if there is one, and by their names."""
    typed = {} if definition is None else definition.keys
    return frozenset(
        text for name, text in properties.items() if isinstance(typed.get(name), Password) or _NAMES.search(name)
    )
