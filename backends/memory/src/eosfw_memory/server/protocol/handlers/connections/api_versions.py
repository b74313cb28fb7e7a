"""ApiVersions (18): tell a client which requests are served, in which versions.

Behaviour
- Lists exactly what `protocol.routes` lists.
- The feature `transaction.version` says whether clients shall use a new epoch for each transaction (KIP-890), the
  feature `group.version` that the consumer group protocol is served (KIP-848).
- A request of a version that is too new is answered in version 0 with UnsupportedVersion (KIP-511); then `request` is
  None, because its body cannot be read.
- An invalid name or version of the client's software is InvalidRequest (KIP-511).

Version notes: 3 and later name the client's software and carry features; a feature whose lowest version is 0 is left
out of those supported before 4.
"""

from __future__ import annotations

import re
from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.routes import ROUTES

_TRANSACTIONS, _GROUPS = "transaction.version", "group.version"
_GROUP_LEVEL = 1
_SUPPORTED = (
    {"name": _GROUPS, "min_version": 0, "max_version": _GROUP_LEVEL},
    {"name": _TRANSACTIONS, "min_version": 0, "max_version": 2},
)
_NAMED_VERSION = 3
_ZERO_VERSION = 4
_NOTHING = -1
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
_FEATURES_EPOCH = 0
"""Nothing changes a feature while this broker runs."""


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with the table of routes."""
    if context.version >= _NAMED_VERSION and request is not None and not _named(request):
        return {"error_code": Code.INVALID_REQUEST, "api_keys": (), "finalized_features_epoch": _NOTHING}
    levels = {_GROUPS: _GROUP_LEVEL, _TRANSACTIONS: broker.settings.transactions.version}
    served = [
        {"api_key": route.key, "min_version": route.min_version, "max_version": route.max_version}
        for route in ROUTES.values()
    ]
    return {
        "error_code": Code.UNSUPPORTED_VERSION if request is None else Code.NONE,
        "api_keys": served,
        "supported_features": _SUPPORTED if context.version >= _ZERO_VERSION else (),
        "finalized_features_epoch": _FEATURES_EPOCH,
        "finalized_features": [
            {"name": name, "max_version_level": level, "min_version_level": level} for name, level in levels.items()
        ],
    }


def _named(request: Any) -> bool:
    names = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(name) for name in names)
