"""The fencer of each transactional id: the one that its connector's pipeline chooses, else the client's default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, NamedTuple

from eosfw.config import Config, clients
from eosfw.config.parts import FENCER, PartChoice, chosen
from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.pipeline.definition.validation import worker_config
from eosfw.registry import Plugins, parts

if TYPE_CHECKING:
    from eosfw.cli.connection import Session
    from eosfw.pipeline import Pipeline
    from eosfw.protocols import Fencer

_MOST_DIGITS = 10
_DEFAULT = PartChoice(FENCER)


class _Fencing(NamedTuple):
    """How some ids are fenced, and under which properties of an admin client."""

    choice: PartChoice
    admin_properties: Mapping[str, str]
    transactional_ids: Sequence[str]


def fence_by_choice(session: Session, transactional_ids: Sequence[str], timeout: float) -> None:
    """Fence every id with its own fencer; the first failure is raised, once all ids were tried."""
    failures = []
    with ExitStack() as opened:
        # All are made before one fences: properties that do not fit are found while nothing has been done.
        fencings = list(_fencings(session, transactional_ids))
        fencers = [opened.enter_context(closing(_fencer(session, one))) for one in fencings]
        for fencer, fencing in zip(fencers, fencings, strict=True):
            outcomes = fencer.fence(fencing.transactional_ids, timeout)
            failures += [error for error in outcomes.values() if error is not None]
    for error in failures:
        raise error


def _fencer(session: Session, fencing: _Fencing) -> Fencer:
    return parts.fencer(session.plugins, fencing.choice, session.backend, fencing.admin_properties, session.runtime)


def _fencings(session: Session, transactional_ids: Sequence[str]) -> Iterator[_Fencing]:
    left = list(transactional_ids)
    if session.pipeline is not None:
        for fencing in _fencings_of_pipeline(session.pipeline, session.plugins, transactional_ids):
            left = [one for one in left if one not in fencing.transactional_ids]
            yield fencing
    if left:
        yield _Fencing(_DEFAULT, {}, left)


def _fencings_of_pipeline(pipeline: Pipeline, plugins: Plugins, transactional_ids: Sequence[str]) -> Iterator[_Fencing]:
    """For each connector, as its leader would fence (KIP-618): ids of tasks of an earlier, larger `tasks.max`, too."""
    worker = worker_config(pipeline, plugins)
    for name, properties in pipeline.connectors.items():
        own = [one for one in transactional_ids if _is_of_task(one, worker["group.id"], name)]
        if own:
            # Read without the connector's class, which may not be installed where transactions are administered.
            connector = Config({FENCER: properties.get(FENCER)}, properties)
            admin = clients.connector_admin(worker, connector).properties
            yield _Fencing(chosen(FENCER, worker, connector), admin, own)


def _is_of_task(transactional_id: str, group_id: str, connector: str) -> bool:
    number = transactional_id.rpartition("-")[2]
    if not number.isdecimal() or len(number) > _MOST_DIGITS:
        return False
    return transactional_id == task_transactional_id(group_id, ConnectorTaskId(connector, int(number)))
