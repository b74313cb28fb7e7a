"""The options `--engine`, `--master` and `--conf`, which say where the tasks of connectors run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from eosfw.pipeline.local.hosting import HostChoice

ENGINE_HELP: Final = (
    "Run each connector task as a task of this step engine, such as spark, and the steps there, too; without it tasks "
    "run on this machine, as task.isolation says."
)
MASTER_HELP: Final = "With --engine spark: Spark's master, such as local[4], spark://HOST:PORT, yarn or k8s://URL."
CONF_HELP: Final = "With --engine spark: a setting of Spark; may be repeated."


def host_choice(engine: str | None, master: str | None, conf: Sequence[str]) -> HostChoice | None:
    """What the options say; BadParameter if one is wrong or stands alone."""
    from eosfw.pipeline.local.hosting import HostChoice
    from eosfw.protocols import TaskHostSettings

    if engine is None:
        if master is not None or conf:
            raise typer.BadParameter("--master and --conf are for --engine, such as --engine spark: add it")
        return None
    for setting in conf:
        if "=" not in setting:
            raise typer.BadParameter(f"write --conf KEY=VALUE, not {setting!r}")
    return HostChoice(engine, TaskHostSettings(master, dict(one.split("=", 1) for one in conf)))
