"""Answer Kafka's requests, one module for each, in folders by subject; Kafka's `KafkaApis`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from eosfw_memory.server.broker.broker import Handler
from eosfw_memory.server.protocol.routes import ROUTES


@cache
def handler_of(key: int) -> Handler:
    """The function that answers a kind of request.

    Its module is imported when first needed, so that a start does not wait for requests that nobody makes.
    """
    handle: Handler = import_module(f"{__name__}.{ROUTES[key].module}").handle
    return handle
