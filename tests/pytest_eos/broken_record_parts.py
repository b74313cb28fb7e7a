"""Transformations, predicates and converters that break one promise of a contract each; the contract must name it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import ClassVar

from eosfw.config import ConfigDef, Int, String
from eosfw.data import INT64, SchemaAndValue
from eosfw.errors import DataError

_COUNT = itertools.count()


class Digits:
    """A sound converter of whole numbers."""

    name = "digits"
    config: ClassVar = ConfigDef(Int("width", 1, at_least=1))
    closed = False

    def configure(self, config):
        self.width = config["width"]

    def from_connect_data(self, topic, schema, value):
        if value is None:
            return None
        if (schema is not None and schema.type is not INT64.type) or type(value) is not int:
            raise DataError("only INT64 can be written")
        return b"%0*d" % (self.width, value)

    def from_connect_columns(self, topic, schema, values):
        return [self.from_connect_data(topic, schema, one) for one in values]

    def to_connect_data(self, topic, data):
        if data is None:
            return SchemaAndValue(INT64, None)
        if not data.removeprefix(b"-").isdigit():
            raise DataError("no digits")
        return SchemaAndValue(INT64, int(data))

    def close(self):
        self.closed = True


class Texts(Digits):
    """Makes texts."""

    def from_connect_data(self, topic, schema, value):
        made = super().from_connect_data(topic, schema, value)
        return None if made is None else made.decode()


class TakesNothing(Digits):
    """Refuses everything."""

    def from_connect_data(self, topic, schema, value):
        raise DataError("it is nothing")


class ShowsValues(Digits):
    """Shows what it refuses."""

    def from_connect_data(self, topic, schema, value):
        try:
            return super().from_connect_data(topic, schema, value)
        except DataError:
            raise DataError(f"{value!r} is no number") from None


class RaisesOthers(Digits):
    """Fails without a word."""

    def from_connect_data(self, topic, schema, value):
        try:
            return super().from_connect_data(topic, schema, value)
        except DataError:
            raise KeyError("type") from None


class NullIsFalse(Digits):
    """Makes what is no bytes of a null."""

    def from_connect_data(self, topic, schema, value):
        return 0 if value is None else super().from_connect_data(topic, schema, value)


class Counts(Digits):
    """Writes each value otherwise."""

    def from_connect_data(self, topic, schema, value):
        made = super().from_connect_data(topic, schema, value)
        return made and b"%d:%s" % (next(_COUNT), made)


class OwnInstance(Digits):
    """Writes otherwise than another instance."""

    def configure(self, config):
        super().configure(config)
        self.salt = b"%d:" % next(_COUNT)

    def from_connect_data(self, topic, schema, value):
        made = super().from_connect_data(topic, schema, value)
        return made and self.salt + made


class NamelessFields:
    """Does not say which field it cannot write."""

    name = "nameless"

    def from_connect_data(self, topic, schema, value):
        try:
            return json.dumps(value).encode()
        except TypeError:
            raise DataError("it cannot be written") from None


class Empties(NamelessFields):
    """Takes fields out of what it is given."""

    def from_connect_data(self, topic, schema, value):
        made = super().from_connect_data(topic, schema, value)
        if isinstance(value, dict):
            value.clear()
        return made


class OtherColumns(Digits):
    """Writes columns without the width."""

    def from_connect_columns(self, topic, schema, values):
        return [None if one is None else b"#%d" % one for one in values]


class NoColumns(Digits):
    """Takes no columns."""

    def from_connect_columns(self, topic, schema, values):
        raise NotImplementedError


class ReadsOthers(Digits):
    """Reads other numbers than it writes."""

    def to_connect_data(self, topic, data):
        schema, value = super().to_connect_data(topic, data)
        return SchemaAndValue(schema, value and abs(value))


class ShowsBytes(Digits):
    """Shows what it cannot read."""

    def to_connect_data(self, topic, data):
        try:
            return super().to_connect_data(topic, data)
        except DataError:
            raise DataError(f"{data!r} are no digits") from None


class ClosesOnce(Digits):
    """Cannot be closed twice."""

    def close(self):
        if self.closed:
            raise RuntimeError("it is closed")
        super().close()


class TakesAll(Digits):
    """Takes every property."""

    config: ClassVar = ConfigDef(Int("width", 1), String("eos.no.such.property", "x"))


class TypedHeaders:
    """A sound header converter."""

    name = "typed"

    def from_connect_header(self, topic, name, schema, value):
        try:
            return value if value is None else json.dumps(value).encode()
        except TypeError:
            raise DataError(f"header {name!r} cannot be written") from None

    def to_connect_header(self, topic, name, data):
        try:
            return SchemaAndValue(None, data if data is None else json.loads(data))
        except (ValueError, RecursionError):
            raise DataError(f"header {name!r} is no JSON") from None


class NamelessHeaders(TypedHeaders):
    """Does not say which header it cannot write."""

    def from_connect_header(self, topic, name, schema, value):
        return super().from_connect_header(topic, "?", schema, value)


class ForgetsTypes(TypedHeaders):
    """Reads texts alone."""

    def to_connect_header(self, topic, name, data):
        return SchemaAndValue(None, data and data.decode("utf-8", "replace"))


class UpperCase:
    """A sound transformation of texts."""

    name = "upper"

    def apply(self, record):
        return replace(record, value=self._upper(record.value))

    def apply_batch(self, batch):
        return replace(batch, values=list(map(self._upper, batch.values)))

    def _upper(self, value):
        if value is not None and not isinstance(value, str):
            raise DataError("only texts have capitals")
        return value and value.upper()


class OtherOffsets(UpperCase):
    """Makes records of nowhere."""

    def apply(self, record):
        return replace(super().apply(record), source_offset={})


class OtherTypes(UpperCase):
    """Changes the value, and not its schema."""

    def apply(self, record):
        made = super().apply(record)
        return made if made.value is None else replace(made, value=len(made.value))


class ChangesInside:
    """Changes the mapping of the record that it is given."""

    name = "inside"

    def apply(self, record):
        if isinstance(record.value, dict):
            record.value["site"] = "Oslo"
        return record


class EachOther(UpperCase):
    """Drops every other record that it sees."""

    def apply(self, record):
        return super().apply(record) if next(_COUNT) % 2 else None


class BatchKeepsAll(UpperCase):
    """Drops records, but never in a batch."""

    def apply(self, record):
        return None if record.value == "98765" else super().apply(record)


class Lengths(UpperCase):
    """Returns values, not records."""

    def apply(self, record):
        return super().apply(record).value


class ShowsTexts(UpperCase):
    """Shows what it refuses."""

    def _upper(self, value):
        if value is not None and not isinstance(value, str):
            raise DataError(f"{value} has no capitals")
        return super()._upper(value)


class IsText:
    """A sound predicate."""

    name = "text"

    def test(self, record):
        return isinstance(record.value, str)

    def test_batch(self, batch):
        return [isinstance(one, str) for one in batch.values]


class Truthy(IsText):
    """Answers with what is as good as a boolean, to Python."""

    def test(self, record):
        return record.value


class FirstDecides(IsText):
    """Answers for a whole batch what holds for its first record."""

    def test(self, record):
        return record.value == "canary"

    def test_batch(self, batch):
        return batch.values[0] == "canary"


class Alternates(IsText):
    """Answers otherwise each time."""

    def test(self, record):
        return bool(next(_COUNT) % 2)
