"""Schemas of Kafka Connect of JSON Schemas, whoever wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from eosfw.data import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Field,
    Schema,
    Type,
    array,
    map_of,
    struct,
)
from eosfw.errors import DataError
from eosfw_schema_registry.json_schema.names import (
    CONNECT_INDEX,
    CONNECT_PARAMETERS,
    CONNECT_TYPE,
    CONNECT_VERSION,
    ENUM,
    KEY,
    NULL,
    ONE_OF,
    ONE_OF_FIELD,
    VALUE,
)
from eosfw_schema_registry.json_schema.values import connect_value, parse_json

_NUMBERS: Final = {
    "int8": INT8,
    "int16": INT16,
    "int32": INT32,
    "int64": INT64,
    "float32": FLOAT32,
    "float64": FLOAT64,
    "bytes": BYTES,
}
_KINDS: Final = {"boolean": BOOLEAN, "integer": INT64, "number": FLOAT64, "string": STRING}
_IMPLIED: Final = {
    **dict.fromkeys(("properties", "additionalProperties", "required", "patternProperties", "propertyNames"), "object"),
    **dict.fromkeys(("items", "minItems", "maxItems", "uniqueItems", "contains"), "array"),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "string"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
}
"""Keywords that say the type where `type` is missing."""
_MAP: Final = "map"


def connect_schema(text: str, references: Mapping[str, str] | None = None, *, optional_unless_required: bool) -> Schema:
    """The schema of a JSON Schema; `references` are the texts of others by the names under which it refers to them.

    DataError says what of it has no schema of Kafka Connect.
    """
    documents = {name: parse_json(each.encode()) for name, each in (references or {}).items()}
    root = parse_json(text.encode())
    return _Reader({"": root, **documents}, optional_unless_required).read(root)


@dataclass(slots=True)
class _Reader:
    documents: Mapping[str, Any]
    """By name; the one that is read has none."""
    optional_unless_required: bool
    document: str = ""
    """The one in which references begin with `#`."""
    within: list[str] = field(default_factory=list)
    """References that are followed, to see one that leads to itself."""

    def read(self, given: Any, *, optional: bool = False) -> Schema:
        """The schema of a part."""
        if not isinstance(given, Mapping):
            raise DataError("a part of the JSON Schema says no type")
        if "$ref" in given:
            return self._referred(str(given["$ref"]), optional=optional)
        if (choices := given.get("oneOf", given.get("anyOf"))) is not None:
            return self._union(choices, optional=optional)
        if isinstance(kinds := given.get("type"), list):
            return self._union([{**given, "type": kind} for kind in kinds], optional=optional)
        if "allOf" in given:
            return self._all(given["allOf"], optional=optional)
        return self._finished(given, self._typed(given), optional=optional)

    def _typed(self, given: Mapping[str, Any]) -> Schema:
        kind = given.get("type") or next((kind for keyword, kind in _IMPLIED.items() if keyword in given), None)
        symbols = given.get("enum", [given["const"]] if "const" in given else None)
        if symbols is not None and kind in (None, "string"):
            # A const beside a type is that type.
            return STRING if kind == "string" and "const" in given else _enum(symbols)
        if kind == "object":
            return self._object(given)
        if kind == "array":
            return self._array(given)
        if kind not in _KINDS:
            raise DataError(f"a part of the JSON Schema has no type of Kafka Connect: {kind}")
        name = given.get(CONNECT_TYPE)
        if kind in ("integer", "number") and name is not None:
            if name not in _NUMBERS:
                raise DataError(f"Unsupported type {name}")
            return _NUMBERS[name]
        return BYTES if kind == "string" and name == "bytes" else _KINDS[kind]

    def _object(self, given: Mapping[str, Any]) -> Schema:
        if given.get(CONNECT_TYPE) == _MAP:
            return map_of(STRING, self.read(given.get("additionalProperties")))
        places: dict[int, str] = {}
        properties = given.get("properties", {})
        for name, each in properties.items():
            index = each.get(CONNECT_INDEX) if isinstance(each, Mapping) else None
            places[len(places) if index is None else index] = name
        required = set(given.get("required", ()))
        fields = []
        for _, name in sorted(places.items()):
            forced = self.optional_unless_required and name not in required
            fields.append(Field(name, self.read(properties[name], optional=forced)))
        return struct(fields)

    def _array(self, given: Mapping[str, Any]) -> Schema:
        items = given.get("items")
        if not isinstance(items, Mapping):
            raise DataError("Array schema did not specify the items type")
        entry = items.get("properties", {})
        if given.get(CONNECT_TYPE) == _MAP and KEY in entry and VALUE in entry:
            return map_of(self.read(entry[KEY]), self.read(entry[VALUE]))
        return array(self.read(items))

    def _union(self, choices: Sequence[Any], *, optional: bool) -> Schema:
        others = [each for each in choices if each != {"type": "null"} and _kind(each) != "null"]
        nullable = optional or len(others) < len(choices)
        if len(others) == 1 and len(choices) <= 2:  # one choice alone is that choice
            return self.read(others[0], optional=nullable)
        if not others:
            raise DataError("a part of the JSON Schema is null alone")
        fields = [Field(f"{ONE_OF_FIELD}{at}", self.read(each, optional=True)) for at, each in enumerate(others)]
        return replace(struct(fields, name=ONE_OF), optional=nullable)

    def _all(self, parts: Sequence[Any], *, optional: bool) -> Schema:
        """The fields of all objects; of parts without fields, the first that says a type."""
        found = [each for each in map(self._resolved, parts) if isinstance(each, Mapping)]
        objects = [each for each in found if "properties" in each]
        if objects:
            merged = {name: each for part in objects for name, each in part["properties"].items()}
            required = [name for part in objects for name in part.get("required", ())]
            schema = self._object({"properties": merged, "required": required})
            return schema.as_optional() if optional else schema
        if not found:
            raise DataError("a part of the JSON Schema is an empty allOf")
        return self.read(found[0], optional=optional)

    def _resolved(self, given: Any) -> Any:
        if isinstance(given, Mapping) and str(given.get("$ref", "")).startswith("#"):
            return self._pointed(str(given["$ref"]).partition("#")[2], self.document)
        return given

    def _referred(self, reference: str, *, optional: bool) -> Schema:
        name, _, pointer = reference.partition("#")
        document = name or self.document
        place = f"{document}#{pointer}"
        if place in self.within:
            raise DataError(f"the JSON Schema refers to itself at {place}, which no schema of a record can")
        outer, self.document = self.document, document
        self.within.append(place)
        try:
            return self.read(self._pointed(pointer, document), optional=optional)
        finally:
            self.within.pop()
            self.document = outer

    def _pointed(self, pointer: str, document: str) -> Any:
        """What a JSON Pointer (RFC 6901) names in a document."""
        found = self.documents.get(document)
        for part in pointer.strip("/").split("/") if pointer.strip("/") else ():
            step = part.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, Mapping) else None
        if found is None:
            raise DataError(f"the JSON Schema refers to {document}#{pointer}, which is missing")
        return found

    def _finished(self, given: Mapping[str, Any], schema: Schema, *, optional: bool) -> Schema:
        """With what the JSON Schema says beside the type."""
        parameters = {str(name): str(each) for name, each in (given.get(CONNECT_PARAMETERS) or {}).items()}
        schema = replace(
            schema,
            name=schema.name or given.get("title"),
            version=given.get(CONNECT_VERSION),
            doc=given.get("description"),
            parameters={**schema.parameters, **parameters},
        )
        if given.get("default") is not None:
            schema = replace(schema, default=connect_value(schema, given["default"]))
        return schema.as_optional() if optional else schema


def _kind(given: Any) -> Any:
    return given.get("type") if isinstance(given, Mapping) else None


def _enum(symbols: Sequence[Any]) -> Schema:
    names = [NULL if each is None else str(each) for each in symbols]
    return Schema(Type.STRING, parameters={ENUM: "", **{f"{ENUM}.{name}": name for name in names}})
