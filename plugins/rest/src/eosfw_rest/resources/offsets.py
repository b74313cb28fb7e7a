"""The offsets of connectors (KIP-875; a part of Kafka Connect's `ConnectorsResource`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from eosfw.errors import BadRequestError
from eosfw.protocols import Herder
from eosfw.protocols.herder import ConnectorOffset, WorkerGroupQueries
from eosfw_rest.json_text import dumped, loaded
from eosfw_rest.messages import Answer, RestRequest
from eosfw_rest.resources.bodies import json_object


def show(request: RestRequest, queries: WorkerGroupQueries) -> Answer:
    """The committed source offsets of a connector."""
    found = queries.connector_offsets(request.parameters["connector"])
    return Answer(body={"offsets": [asdict(one) for one in found]})


def alter(request: RestRequest, herder: Herder) -> Answer:
    """Change offsets of a stopped connector, all or none."""
    body = json_object(loaded(request.body), "A request to alter offsets")
    if unknown := [field for field in body if field != "offsets"]:
        raise BadRequestError(f"Unrecognized field {unknown[0][:100]!r}, known is: offsets")
    listed = body.get("offsets")
    if not listed:
        raise BadRequestError("Partitions / offsets need to be provided for an alter offsets request")
    if not isinstance(listed, list):
        raise BadRequestError("The field 'offsets' must be an array")
    offsets = [_offset(entry, at) for at, entry in enumerate(listed)]
    _refuse_duplicates(offsets)
    return Answer(body={"message": herder.alter_offsets(request.parameters["connector"], offsets)})


def reset(request: RestRequest, herder: Herder) -> Answer:
    """Delete all offsets of a stopped connector."""
    return Answer(body={"message": herder.reset_offsets(request.parameters["connector"])})


def _offset(entry: Any, at: int) -> ConnectorOffset:
    fields = json_object(entry, f"Entry {at} of 'offsets'")
    if set(fields) != {"partition", "offset"}:
        raise BadRequestError(f"Entry {at} of 'offsets' must have the fields partition and offset, and no others")
    partition, offset = fields["partition"], fields["offset"]
    if not isinstance(partition, Mapping):
        raise BadRequestError(f"Entry {at} of 'offsets': the partition must be a JSON object")
    if not (offset is None or isinstance(offset, Mapping)):
        raise BadRequestError(f"Entry {at} of 'offsets': the offset must be a JSON object, or null to delete it")
    return ConnectorOffset(dict(partition), None if offset is None else dict(offset))


def _refuse_duplicates(offsets: list[ConnectorOffset]) -> None:
    seen: dict[bytes, int] = {}
    for at, one in enumerate(offsets):
        first = seen.setdefault(dumped(dict(sorted(one.partition.items()))), at)
        if first != at:
            raise BadRequestError(f"Entries {first} and {at} of 'offsets' have the same partition")
