"""The limit of how many tasks a connector may have (KIP-1004, `checkTasksMax` of Kafka Connect's `Worker`)."""

from __future__ import annotations

import logging

from eosfw.config import Config
from eosfw.config.connector import TASKS_MAX, TASKS_MAX_ENFORCE

logger = logging.getLogger(__name__)


def too_many_tasks(connector: Config, count: int) -> str | None:
    """Why a connector must not have so many tasks, in Kafka Connect's words; a warning if it may all the same."""
    name, most = connector["name"], connector[TASKS_MAX]
    if count <= most:
        return None
    generated = (
        f"The connector {name} has generated {count} tasks, which is greater than {most}, the maximum number of tasks "
        f"it is configured to create."
    )
    if connector[TASKS_MAX_ENFORCE]:
        return (
            f"{generated} This behaviour should be considered a bug and is disallowed. If necessary, it can be "
            f"permitted by reconfiguring the connector with '{TASKS_MAX_ENFORCE}' set to false; however, this option "
            f"will be removed in a future release of Kafka Connect."
        )
    logger.warning(
        "%s This behavior should be considered a bug and will be disallowed in future releases of Kafka Connect. "
        "Please report this to the maintainers of the connector and request that they adjust their connector's "
        "task_configs() method to respect the max_tasks parameter.",
        generated,
    )
    return None
