"""Workers that are alive in a group, so that a run does not take their tasks from them."""

from __future__ import annotations

import logging

from eosfw.errors import ClusterAuthorizationError, ConfigError, GroupAuthorizationError, Problem, UnsupportedError
from eosfw.protocols import Admin, GroupDescription
from eosfw.runtime.group.services import live_workers

logger = logging.getLogger(__name__)

_NOT_ALLOWED = (GroupAuthorizationError, ClusterAuthorizationError, UnsupportedError)


def refuse_live_workers(admin: Admin, group_id: str) -> None:
    """Raise ConfigError if workers are alive in the group, of eosfw or of Kafka Connect; it names them."""
    try:
        group = admin.describe_group(group_id)
    except _NOT_ALLOWED as why:  # this principal may be allowed to read and write, yet not to describe the group
        logger.warning("nobody looked whether workers are alive in group %s: %s", group_id, why)
        return
    if problem := live_workers_problem(group):
        raise ConfigError(Problem("group.id", problem))


def live_workers_problem(group: GroupDescription) -> str | None:
    """What keeps a run out of a group; consumers that only share its name do not."""
    if group.protocol_type == "connect" and group.members:
        names = ", ".join(sorted(f"{one.client_id} at {one.host}" for one in group.members))
        return f"a Kafka Connect group is alive under {group.group_id!r} ({names}): stop it, or choose another group.id"
    names = ", ".join(sorted(live_workers(group)))
    if not names:
        return None
    return (
        f"workers are alive in group {group.group_id!r} ({names}), and a run would take their connectors over: "
        f"create the connectors there (`eosfw connectors create`), stop the workers, or choose another group.id"
    )
