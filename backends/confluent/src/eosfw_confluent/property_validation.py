"""Find values that librdkafka refuses, before a client is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from eosfw.config.translation import Client, refusals
from eosfw.errors import ConfigError, Problem
from eosfw_confluent.properties import LIBRDKAFKA

_CLIENTS: Mapping[Client, type[Any]] = {
    Client.PRODUCER: Producer,
    Client.CONSUMER: Consumer,
    Client.ADMIN: AdminClient,
}
_COMBINATION_REFUSED = "Failed to create"
"""How a message begins that only complains about a combination: a single property is not to blame for it."""


def invalid_properties(properties: Mapping[str, str], client: Client) -> list[Problem]:
    """The problems that librdkafka finds with each property alone; it does not connect, since no broker is named."""
    return refusals(properties, lambda one: _try(LIBRDKAFKA.translate({}, client, one), client))


def _try(config: Mapping[str, Any], client: Client) -> None:
    try:
        _CLIENTS[client]({**config, "log_level": 0})
    except KafkaException as why:
        text = why.args[0].str()
        if not text.startswith(_COMBINATION_REFUSED):
            raise ConfigError(Problem("", text)) from None
