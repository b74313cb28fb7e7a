"""The answer to any request that is refused as a whole: its error code in every place that has one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.protocol.codec import codec
from eosfw_memory.server.protocol.schemas import Field, is_array, is_nullable, kafka_type, message_class

_SOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "responses": ("topic_data", "topics", "topic_names", "resources"),
    "partition_responses": ("partition_data",),
    "topics": ("topics",),
    "partitions": ("partitions", "partition_indexes"),
    "groups": ("groups", "group_ids"),
    "coordinators": ("coordinator_keys",),
    "results": ("creations", "resources", "topics", "groups_names", "users", "deletions", "upsertions"),
    "filter_results": ("filters",),
    "transaction_states": ("transactional_ids",),
    "results_by_transaction": ("transactions",),
    "topic_results": ("topics",),
    "results_by_topic_v3_and_below": ("v3_and_below_topics",),
    "results_by_partition": ("partitions",),
    "markers": ("markers",),
    "entries": ("entries",),
}
"""The lists of answers that have an element for each element of a list of the request, with the names of that one."""
_IDENTITIES: Final = frozenset(
    {"name", "topic", "topic_id", "index", "partition_index", "partition"}
    | {"group_id", "key", "transactional_id", "resource_type", "resource_name", "user"}
)
"""The fields that say which thing of the request an element is about."""
_IN_REQUESTS: Final[Mapping[str, str]] = {"partition_index": "partition", "user": "name"}
"""Those that a request may name otherwise than its answer does."""
_EMPTY: Final[Mapping[str, Any]] = {"string": "", "bytes": b"", "records": b"", "bool": False, "uuid": None}
_NONE: Final = -1


def error_response(key: int, version: int, request: Any, code: Code) -> Answer:
    """The answer to a request that had no effect, with `code` for each thing it asked for.

    A request without a list of things gets the code at the top of its answer.
    """
    # That of the codec, which compares the defaults of fields with its own.
    schema = codec(key, version).response_schema
    answer = {field.name: _value(field, request, code) for field in dataclasses.fields(schema)}
    each = [answer[name] for name in _SOURCES if answer.get(name)]
    return answer | dict.fromkeys(_codes(schema), Code.NONE) if each else answer


def _element(schema: Any, asked: Any, code: Code) -> Answer:
    """The part of an answer about one thing, which is a structure or only its name or number."""
    fields = dataclasses.fields(schema)
    # What has a code of its own says nothing of its parts: they were not looked at.
    inner = None if any(_codes(schema)) else asked
    values = {field.name: _value(field, inner, code) for field in fields}
    named = {field.name: _identity(field, asked) for field in fields if field.name in _IDENTITIES}
    return values | {name: value for name, value in named.items() if value is not None}


def _identity(field: Field, asked: Any) -> Any:
    if isinstance(asked, int):
        return asked
    if isinstance(asked, str):
        return asked if kafka_type(field) == "string" else None
    return getattr(asked, field.name, getattr(asked, _IN_REQUESTS.get(field.name, field.name), None))


def _value(field: Field, asked: Any, code: Code) -> Any:
    kind = kafka_type(field)
    if kind == "error_code":
        return code
    if kind is None and is_array(field.type):
        found = (getattr(asked, name, None) for name in _SOURCES.get(field.name, ()))
        things, element = next((each for each in found if each), ()), message_class(field.type)
        return [_element(element, each, code) for each in things] if _has_code_inside(element) else []
    if field.default is not dataclasses.MISSING:
        return field.default
    if is_nullable(field):
        return None
    return () if is_array(field.type) else _EMPTY.get(str(kind), _NONE)


def _has_code_inside(schema: Any) -> bool:
    nested = [field for field in dataclasses.fields(schema) if kafka_type(field) is None]
    return any(_codes(schema)) or any(_has_code_inside(message_class(field.type)) for field in nested)


def _codes(schema: Any) -> Iterable[str]:
    return (field.name for field in dataclasses.fields(schema) if kafka_type(field) == "error_code")
