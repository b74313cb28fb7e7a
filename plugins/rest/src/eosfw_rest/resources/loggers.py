"""Levels of loggers (Kafka Connect's `LoggingResource`)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from eosfw.errors import BadRequestError, NotFoundError
from eosfw.protocols import Herder
from eosfw_rest.json_text import loaded_texts
from eosfw_rest.messages import Answer, RestRequest
from eosfw_rest.resources.bodies import json_object

_LEVELS: Final = ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL")


def list_loggers(request: RestRequest, herder: Herder) -> Answer:
    """The loggers of this worker whose level is set."""
    return Answer(body={name: asdict(level) for name, level in sorted(herder.loggers().items())})


def logger(request: RestRequest, herder: Herder) -> Answer:
    """The level of one logger."""
    return Answer(body=asdict(herder.logger(request.parameters["logger"])))


def set_level(request: RestRequest, herder: Herder) -> Answer:
    """Set the level of a logger and those below it, with `scope=cluster` in every worker (KIP-976)."""
    level = json_object(loaded_texts(request.body), "A request to set a level").get("level")
    if level is None:
        raise BadRequestError("Desired 'level' parameter was not specified in request.")
    if not isinstance(level, str) or level.upper() not in _LEVELS:
        # Not 400: it is what Kafka Connect answers.
        raise NotFoundError(f"invalid log level '{level}'.")
    scope = request.query.get("scope", ("worker",))[0].lower()
    if scope not in ("worker", "cluster"):
        return Answer(body=[])
    names = herder.set_logger_level(request.parameters["logger"], level.upper(), cluster=scope == "cluster")
    return Answer(204) if scope == "cluster" else Answer(body=sorted(names))
