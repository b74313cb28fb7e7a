"""A plan of rights as commands of Kafka's `kafka-acls`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from eosfw.runtime.checks.acl_plan import AclBinding


def kafka_acls_commands(bindings: Sequence[AclBinding], servers: str, principals: Mapping[str, str]) -> str:
    """One command for each entry; `principals` by the holder of the right."""
    return "\n".join(_command(one, servers, principals[one.holder.value]) for one in bindings)


def _command(one: AclBinding, servers: str, principal: str) -> str:
    words = ["kafka-acls.sh", "--bootstrap-server", servers, "--add", "--allow-principal", principal]
    for operation in one.operations:
        words += ["--operation", operation]
    words += [f"--{one.resource.value}", one.name]
    if one.prefixed:
        words += ["--resource-pattern-type", "prefixed"]
    return shlex.join(words)
