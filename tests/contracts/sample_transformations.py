"""Each transformation of Kafka Connect with properties that fit the contract's records, and properties that do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from eosfw.records import SourceRecord
from pytest_eos.contracts.records.samples import ORDERS, RECORDS

TRANSFORMATIONS: Sequence[tuple[str, Mapping[str, str]]] = (
    ("Cast$Value", {"spec": "id:string,count:int64"}),
    ("Cast$Value", {"spec": "string"}),
    ("Cast$Key", {"spec": "id:string"}),
    ("DropHeaders", {"headers": "site"}),
    ("ExtractField$Value", {"field": "place.city", "field.syntax.version": "V2"}),
    ("ExtractField$Key", {"field": "id"}),
    ("Filter", {}),
    ("Flatten$Value", {}),
    ("Flatten$Key", {"delimiter": "_"}),
    ("HeaderFrom$Value", {"fields": "id,name", "headers": "id,name", "operation": "move"}),
    ("HeaderFrom$Key", {"fields": "id", "headers": "id", "operation": "copy"}),
    ("HoistField$Value", {"field": "whole"}),
    ("HoistField$Key", {"field": "whole"}),
    ("InsertField$Value", {"static.field": "site", "static.value": "Oslo", "topic.field": "topic!"}),
    ("InsertField$Key", {"timestamp.field": "at", "partition.field": "part"}),
    ("InsertHeader", {"header": "level", "value.literal": "[1, 2]"}),
    ("MaskField$Value", {"fields": "name,count"}),
    ("MaskField$Key", {"fields": "name", "replacement": "x"}),
    ("RegexRouter", {"regex": "(.*)", "replacement": "eu.$1"}),
    ("ReplaceField$Value", {"exclude": "note", "renames": "id:key"}),
    ("ReplaceField$Key", {"include": "id"}),
    ("SetSchemaMetadata$Value", {"schema.name": "Other", "schema.version": "2"}),
    ("SetSchemaMetadata$Key", {"schema.name": "Other"}),
    ("TimestampConverter$Value", {"target.type": "unix", "field": "day"}),
    ("TimestampConverter$Value", {"target.type": "string", "format": "yyyy-MM-dd"}),
    ("TimestampConverter$Key", {"target.type": "unix", "field": "day"}),
    ("TimestampRouter", {"timestamp.format": "yyyy"}),
    ("ValueToKey", {"fields": "id,name"}),
)
WRONG: Mapping[str, Mapping[str, str]] = {
    "Cast$Value": {"spec": "id:text"},
    "MaskField$Value": {"fields": ""},
    "RegexRouter": {"regex": "("},
    "TimestampConverter$Value": {"target.type": "moment"},
}
"""Properties that must be refused."""
PREDICATES: Sequence[tuple[str, Mapping[str, str]]] = (
    ("HasHeaderKey", {"name": "site"}),
    ("RecordIsTombstone", {}),
    ("TopicNameMatches", {"pattern": "ord.*"}),
    ("TopicNameMatches", {"pattern": "no"}),
)


def records_for(name: str) -> Sequence[SourceRecord]:
    """The records for a transformation, without those of which Kafka Connect's own makes what does not fit its schema:
    a field of a null struct, and moments whose schema has the name of no logical type.
    """
    if name == "ExtractField$Value":
        return [one for one in RECORDS if one.value_schema is None or one.value is ORDERS[0]]
    if name == "SetSchemaMetadata$Value":
        return [one for one in RECORDS if not isinstance(one.value, datetime)]
    return RECORDS
