"""The changes that a herder refuses which only shows its worker."""

from __future__ import annotations

from typing import Any, NoReturn

from eosfw.errors import BadRequestError


class RefusedChanges:
    """The methods of a `Herder` that change something, each refused with the same sentence."""

    def __init__(self, refusal: str) -> None:
        self._refusal = refusal

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise BadRequestError(self._refusal)

    put_connector = _refuse
    patch_connector = _refuse
    delete_connector = _refuse
    pause_connector = _refuse
    resume_connector = _refuse
    stop_connector = _refuse
    restart_connector = _refuse
    restart_connector_and_tasks = _refuse
    reset_active_topics = _refuse
    restart_task = _refuse
    alter_offsets = _refuse
    reset_offsets = _refuse
    set_logger_level = _refuse
    fence_zombies = _refuse
    put_task_configs = _refuse
