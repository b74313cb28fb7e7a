"""The schemas of a read, looked up once, where Spark plans it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from eosfw.config.named_file import read_bytes
from eosfw.errors import ConfigError, Problem
from eosfw_spark.formats.ddl import parse_ddl
from eosfw_spark.formats.json import connect_schema, json_schema
from eosfw_spark.formats.json.format import EnvelopeFormat, JsonFormat
from eosfw_spark.formats.json.values import parse_json
from eosfw_spark.formats.options import ColumnOptions, FormatOptions
from eosfw_spark.formats.registry import StoredSchema, kept_registry
from eosfw_spark.formats.spark_types import arrow_type
from eosfw_spark.formats.typed_columns import CORRUPT_RECORD, Format, ParseMode, TypedColumns
from eosfw_spark.formats.undecodable import UndecodableError

_KINDS: Final = {"json": "JSON", "avro": "AVRO", "protobuf": "PROTOBUF"}
"""The registry's words."""
_LIBRARIES: Final = {"avro": ("fastavro", "avro"), "protobuf": ("google.protobuf", "protobuf")}
_VALUES_OPTION: Final = re.compile(r" value\.(subject|schema|message\.name|descriptor\.file)(?= |$)")
FirstRecord = Callable[[str], bytes | None]
"""Gives the first key or value that is not null, of the topics that are read; None if there is none."""


def resolve(options: FormatOptions, topics: Callable[[], Sequence[str]], first: FirstRecord) -> TypedColumns:
    """Look up the schema of each column; ConfigError if there is none, RetriableError if nobody answers."""
    formats = {each.column: _Resolution(each, options, topics, first).format() for each in options.columns}
    beside = {each.column: each.typed_column for each in options.columns if each.typed_column is not None}
    return TypedColumns(formats, ParseMode(options.mode), options.corrupt_record or CORRUPT_RECORD, beside)


class _Resolution:
    def __init__(
        self, given: ColumnOptions, options: FormatOptions, topics: Callable[[], Sequence[str]], first: FirstRecord
    ) -> None:
        self._given = given
        self._registry = options.registry
        self._topics = topics
        self._first = first

    def format(self) -> Any:
        self._require_library()
        if self._given.format == "json":
            return self._json()
        return self._avro() if self._given.format == "avro" else self._protobuf()

    def _require_library(self) -> None:
        module, extra = _LIBRARIES.get(self._given.format, ("json", ""))
        try:
            missing = find_spec(module) is None
        except ModuleNotFoundError:  # of a package around it
            missing = True
        if missing:
            what = f"{self._given.format} needs the package {module}: pip install 'eosfw-spark[{extra}]'"
            raise ConfigError(Problem("", what))

    def _json(self) -> Any:
        prefixed = bool(self._registry)
        if (text := self._given.schema) is not None:
            return JsonFormat(self._read("schema", lambda: _spark_schema(text)), prefixed=prefixed)
        if prefixed:
            return self._of_subjects(lambda stored: JsonFormat(json_schema.arrow_type(stored.text), True, True))
        return self._envelope()

    def _envelope(self) -> Format:
        column = self._given.column
        data = self._first(column)
        remedy = f"give {column}.schema"
        if data is None:
            what = f"there is no record with a {column} yet from whose schema the columns could be told: {remedy}"
            raise ConfigError(Problem("", what))
        try:
            envelope = parse_json(data)
            schema = envelope["schema"] if isinstance(envelope, dict) and "payload" in envelope else None
            if schema is None:
                what = f"the first {column} has no schema in it, as JsonConverter writes with schemas.enable: {remedy}"
                raise ConfigError(Problem("", what))
            return EnvelopeFormat(json.dumps(schema), connect_schema.arrow_type(schema))
        except UndecodableError as why:
            raise ConfigError(Problem("", f"the first {column} does not decode: {why}; {remedy}")) from None
        except (KeyError, ValueError) as why:
            raise ConfigError(Problem("", f"the schema of the first {column} {why}; {remedy}")) from None

    def _avro(self) -> Any:
        from eosfw_spark.formats.avro.format import read_schema

        if (text := self._given.schema) is not None:
            return replace(self._read("schema", lambda: read_schema(StoredSchema(text))), registry=self._registry)
        return self._of_subjects(lambda stored: replace(read_schema(stored), registry=self._registry))

    def _protobuf(self) -> Any:
        from eosfw_spark.formats.protobuf import format as protobuf_format

        given = self._given
        if (file := given.descriptor_file) is not None:
            try:
                content = read_bytes(Path(file))
            except OSError as why:
                what = f"option {given.column}.descriptor.file cannot be read: {why.strerror}: {file}"
                raise ConfigError(Problem("", what)) from None
            return self._read(
                "descriptor.file",
                lambda: protobuf_format.read_descriptors(content, given.message, prefixed=bool(self._registry)),
            )
        return self._of_subjects(lambda stored: protobuf_format.read_stored(stored, given.message, self._registry))

    def _of_subjects(self, read: Callable[[StoredSchema], Any]) -> Any:
        """The format of the latest schema of each topic's subject, which must be one."""
        column = self._given.column
        subjects = [self._given.subject] if self._given.subject else [f"{each}-{column}" for each in self._topics()]
        registry = kept_registry(self._registry)
        found: dict[str, Any] = {}
        for subject in subjects:
            try:
                stored = registry.latest(subject, _KINDS[self._given.format])
            except ConfigError as why:
                raise ConfigError(*(Problem(one.where, self._of_column(one.what)) for one in why.problems)) from None
            try:
                found[subject] = read(stored)
            except ValueError as why:
                what = f"the schema of subject {subject} {self._of_column(str(why))}"
                raise ConfigError(Problem("", what)) from None
        if not found:
            what = f"there is no topic yet whose subject could be asked for: name one with {column}.subject"
            raise ConfigError(Problem("", what))
        (first, one), *others = found.items()
        for subject, other in others:
            if other.type != one.type:
                what = f"have different columns: read one topic, or give {column}.subject"
                raise ConfigError(Problem("", f"the subjects {first} and {subject} {what}"))
        return one

    def _read(self, option: str, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except ValueError as why:
            what = f"option {self._given.column}.{option} {self._of_column(str(why))}"
            raise ConfigError(Problem("", what)) from None

    def _of_column(self, text: str) -> str:
        """A remedy with the option of this column: formats and registry, which know no columns, name that of values."""
        return _VALUES_OPTION.sub(rf" {self._given.column}.\1", text)


def _spark_schema(text: str) -> Any:
    """The type of Spark DDL, or of the JSON that `df.schema.json()` writes."""
    if not text.lstrip().startswith("{"):
        return parse_ddl(text)
    from pyspark.sql.types import StructType

    try:
        schema = StructType.fromJson(json.loads(text))
    except Exception:  # noqa: BLE001 - PySpark's own errors, and those of a JSON that is something else
        raise ValueError("is no schema of Spark; write DDL such as id BIGINT, name STRING") from None
    return arrow_type(schema)
