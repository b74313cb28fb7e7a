"""What handlers expect in bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eosfw.errors import BadRequestError, NotFoundError
from eosfw.ids import ConnectorTaskId
from eosfw_rest.json_text import loaded_texts
from eosfw_rest.messages import RestRequest

_MOST_TASKS = 2**31


def json_object(value: Any, what: str) -> Mapping[str, Any]:
    """The value if it is a JSON object, else BadRequestError."""
    if not isinstance(value, Mapping):
        raise BadRequestError(f"{what} must be a JSON object, not {_kind(value)}")
    return value


def as_config(value: Any, what: str) -> dict[str, str | None]:
    """Properties of a body that `loaded_texts` has read."""
    config = json_object(value, what)
    for name, text in config.items():
        if not (text is None or isinstance(text, str)):
            raise BadRequestError(f"{what}: the value of {name[:100]!r} must be a text, not {_kind(text)}")
    return dict(config)


def config_of(request: RestRequest) -> dict[str, str | None]:
    """The properties that a request brings."""
    return as_config(loaded_texts(request.body), "The connector configuration")


def named_config(config: dict[str, str | None], name: str) -> dict[str, str | None]:
    """Properties with the name of the connector, which they may repeat but not change."""
    included = config.get("name")
    if included is not None and included != name:
        raise BadRequestError(
            f"Connector name configuration ({included}) doesn't match connector name in the URL ({name})"
        )
    return config | {"name": name}


def task_of(request: RestRequest) -> ConnectorTaskId:
    """The task that the path names."""
    text = request.parameters["task"]
    try:
        number = int(text) if len(text) <= 11 else _MOST_TASKS
    except ValueError:
        number = _MOST_TASKS
    if not -_MOST_TASKS <= number < _MOST_TASKS:
        raise NotFoundError("HTTP 404 Not Found")
    return ConnectorTaskId(request.parameters["connector"], number)


def _kind(value: Any) -> str:
    kinds = ((type(None), "null"), (Mapping, "an object"), (list, "an array"), (str, "a text"))
    return next((word for kind, word in kinds if isinstance(value, kind)), "a number")
