"""Whether a producer is idempotent, by the same rules on every backend (KIP-98, KIP-679)."""

from __future__ import annotations

from collections.abc import Mapping

from eosfw.config.translation import number
from eosfw.errors import ConfigError, Problem

__all__ = ["idempotent"]

_ACKS, _RETRIES, _IDEMPOTENCE = "acks", "retries", "enable.idempotence"
_IN_FLIGHT = "max.in.flight.requests.per.connection"
_MOST_IN_FLIGHT = 5
_SOME = 1


def idempotent(transactional_id: str | None, properties: Mapping[str, str], *, default: bool) -> bool:
    """Whether a producer with these properties repeats what was not answered without storing it twice.

    As in Kafka's client: one with a transactional id is, one that says so is, and then `acks`, `retries` and requests
    in flight that contradict it are a ConfigError. Otherwise (`default`) they turn it off. An empty transactional id
    is a ConfigError.
    """
    if "" in (transactional_id, properties.get("transactional.id")):
        raise ConfigError(Problem("", "Invalid value  for configuration transactional.id: String must be non-empty"))
    setting = properties.get(_IDEMPOTENCE, "").strip().lower()
    if setting not in ("", "true", "false"):
        raise ConfigError(Problem("", f"Invalid value {setting} for configuration {_IDEMPOTENCE}: say true or false"))
    if transactional_id is not None and setting == "false":
        raise ConfigError(
            Problem("", f"{_IDEMPOTENCE}=false: a producer with a transactional id is idempotent; remove it")
        )
    contradictions = list(_contradictions(properties))
    if transactional_id is None and setting != "true":
        return default and setting != "false" and not contradictions
    if contradictions:
        raise ConfigError(*contradictions)
    return True


def _contradictions(properties: Mapping[str, str]) -> list[Problem]:
    found = []
    acks = properties.get(_ACKS, "all").strip().lower()
    if acks not in ("all", "-1"):
        found.append(f"{_ACKS}={acks}: an idempotent producer waits for all replicas, acks=all; remove it")
    if number(properties, _RETRIES, _SOME) == 0:
        found.append(f"{_RETRIES}=0: an idempotent producer repeats what was not answered; remove it")
    in_flight = number(properties, _IN_FLIGHT, _SOME)
    if in_flight > _MOST_IN_FLIGHT:
        found.append(f"{_IN_FLIGHT} is {in_flight}; an idempotent producer keeps order up to {_MOST_IN_FLIGHT} alone")
    return [Problem("", what) for what in found]
