"""Connectors, their tasks and topics (Kafka Connect's `ConnectorsResource`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

from eosfw.errors import BadRequestError, NotFoundError
from eosfw.protocols import Herder
from eosfw.protocols.herder import CreatedConnector, WorkerGroupQueries
from eosfw_rest import entities
from eosfw_rest.json_text import loaded_texts
from eosfw_rest.messages import Answer, RestRequest
from eosfw_rest.resources.bodies import as_config, config_of, json_object, named_config, task_of

_INITIAL_STATES: Final = ("RUNNING", "PAUSED", "STOPPED")
_FIELDS: Final = ("name", "config", "initial_state")


def list_connectors(request: RestRequest, queries: WorkerGroupQueries) -> Answer:
    """The names of all connectors, or with `expand` their information and states."""
    wanted = request.query.get("expand")
    if wanted is None:
        return Answer(body=list(queries.connectors()))
    # Asked for once: to read the states anew for each connector would cost a request to the cluster each.
    statuses = queries.connector_statuses() if "status" in wanted else {}
    parts: dict[str, Callable[[str], dict[str, Any]]] = {
        "status": lambda name: entities.connector_state_info(statuses[name]),
        "info": lambda name: entities.connector_info(queries.connector_info(name)),
    }
    shown = {}
    for name in queries.connectors():
        # Else deleted since the names were listed, or not started yet.
        with suppress(NotFoundError, KeyError):
            shown[name] = {part: parts[part](name) for part in wanted if part in parts}
    return Answer(body=shown)


def create(request: RestRequest, herder: Herder) -> Answer:
    """Create a connector."""
    body = json_object(loaded_texts(request.body), "A request to create a connector")
    if unknown := [field for field in body if field not in _FIELDS]:
        raise BadRequestError(f"Unrecognized field {unknown[0][:100]!r}, known are: {', '.join(_FIELDS)}")
    name = body.get("name") or ""
    if not isinstance(name, str):
        raise BadRequestError("The field 'name' must be a text")
    name = name.strip()
    if name in (".", ".."):
        raise BadRequestError(f"{name!r} is no name of a connector: no path can name it")
    config = named_config(as_config(body.get("config"), "The field 'config'"), name)
    created = herder.put_connector(name, config, initial_state=_initial_state(body), replace=False)
    return _created(created)


def _initial_state(body: Mapping[str, Any]) -> str | None:
    state = body.get("initial_state")
    if state is None:
        return None
    if not isinstance(state, str) or state.upper() not in _INITIAL_STATES:
        raise BadRequestError(f"The field 'initial_state' must be one of: {', '.join(_INITIAL_STATES)}")
    return state.upper()


def _created(outcome: CreatedConnector) -> Answer:
    body = entities.connector_info(outcome.info)
    if not outcome.created:
        return Answer(200, body)
    return Answer(201, body, {"Location": f"/connectors/{quote(outcome.info.name, safe='')}"})


def info(request: RestRequest, queries: WorkerGroupQueries) -> Answer:
    """Properties and tasks of a connector."""
    return Answer(body=entities.connector_info(queries.connector_info(request.parameters["connector"])))


def config(request: RestRequest, queries: WorkerGroupQueries) -> Answer:
    """The properties of a connector."""
    return Answer(body=dict(queries.connector_info(request.parameters["connector"]).config))


def status(request: RestRequest, queries: WorkerGroupQueries) -> Answer:
    """The state of a connector and its tasks."""
    return Answer(body=entities.connector_state_info(queries.connector_status(request.parameters["connector"])))


def put_config(request: RestRequest, herder: Herder) -> Answer:
    """Create a connector, or replace its properties."""
    name = request.parameters["connector"]
    return _created(herder.put_connector(name, named_config(config_of(request), name)))


def patch_config(request: RestRequest, herder: Herder) -> Answer:
    """Change some properties of a connector; null removes one (KIP-477)."""
    name = request.parameters["connector"]
    changes = config_of(request)
    if "name" in changes:
        named_config(changes, name)
    return _created(herder.patch_connector(name, changes))


def delete(request: RestRequest, herder: Herder) -> Answer:
    """Delete a connector."""
    herder.delete_connector(request.parameters["connector"])
    return Answer(204)


def pause(request: RestRequest, herder: Herder) -> Answer:
    """Pause a connector and its tasks."""
    herder.pause_connector(request.parameters["connector"])
    return Answer(202)


def resume(request: RestRequest, herder: Herder) -> Answer:
    """Run a paused or stopped connector."""
    herder.resume_connector(request.parameters["connector"])
    return Answer(202)


def stop(request: RestRequest, herder: Herder) -> Answer:
    """Stop a connector and end its tasks (KIP-875)."""
    herder.stop_connector(request.parameters["connector"])
    return Answer(204)


def restart(request: RestRequest, herder: Herder) -> Answer:
    """Restart a connector, and tasks of it if asked for (KIP-745)."""
    name = request.parameters["connector"]
    include_tasks, only_failed = bool(request.flag("includeTasks")), bool(request.flag("onlyFailed"))
    if not (include_tasks or only_failed):
        herder.restart_connector(name)
        return Answer(204)
    plan = herder.restart_connector_and_tasks(name, only_failed=only_failed, include_tasks=include_tasks)
    return Answer(202, entities.connector_state_info(plan))


def tasks(request: RestRequest, herder: Herder) -> Answer:
    """The properties of a connector's tasks."""
    return Answer(body=[entities.task_info(one) for one in herder.task_infos(request.parameters["connector"])])


def task_status(request: RestRequest, herder: Herder) -> Answer:
    """The state of a task."""
    return Answer(body=entities.task_state(herder.task_status(task_of(request))))


def restart_task(request: RestRequest, herder: Herder) -> Answer:
    """Restart a task."""
    herder.restart_task(task_of(request))
    return Answer(204)


def active_topics(request: RestRequest, queries: WorkerGroupQueries) -> Answer:
    """The topics that a connector has written to (KIP-558)."""
    found = queries.active_topics(request.parameters["connector"])
    return Answer(body={found.connector: {"topics": list(found.topics)}})


def reset_topics(request: RestRequest, herder: Herder) -> Answer:
    """Forget the topics that a connector has written to."""
    herder.reset_active_topics(request.parameters["connector"])
    return Answer(202)
