"""A change of structs field by field, made once for a schema, for single structs as for columns of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from eosfw.data import Field, Schema, StructColumns, Type, default_of
from eosfw.data.columns import Column, as_list, is_arrow
from eosfw.errors import DataError

__all__ = ["FieldChange", "StructChange", "filled", "kept", "struct_like"]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """How a field of the new struct comes from one of the given struct."""

    source: str
    """The name of the given field."""
    default: Any = None
    """What replaces null; None leaves it."""
    convert: Callable[[Any], Any] | None = None
    """Called with what is not null."""
    convert_array: Callable[[Column], Column | None] | None = None
    """The same of an array of Arrow; None if its values must be converted one by one."""

    @property
    def keeps_all(self) -> bool:
        """Whether no value changes."""
        return self.default is None and self.convert is None

    def of(self, value: Mapping[str, Any]) -> Any:
        """The field of one struct."""
        one = value[self.source]
        if one is None:
            one = self.default
        return one if one is None or self.convert is None else self.convert(one)

    def of_columns(self, columns: Mapping[str, Column]) -> Column:
        """The field of many structs; nothing is done for each unless its value changes."""
        column = columns[self.source]
        if self.default is not None:
            column = filled(column, self.default)
        if (convert := self.convert) is None:
            return column
        if self.convert_array is not None and is_arrow(column) and (made := self.convert_array(column)) is not None:
            return made
        return [None if one is None else convert(one) for one in as_list(column)]


class StructChange:
    """What becomes of the structs of one schema."""

    __slots__ = ("_names", "_others", "_take", "fields", "schema")

    def __init__(self, schema: Schema, fields: Mapping[str, FieldChange]) -> None:
        self.schema = schema
        self.fields = fields
        """The fields of the new struct that come from the given one."""
        self._names = tuple(fields)
        # At once, since one call for each field would cost several times as much.
        self._take = _taking(tuple(one.source for one in fields.values()))
        self._others = [(name, one) for name, one in fields.items() if not one.keeps_all]

    def row(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """One struct, changed."""
        made = dict(zip(self._names, self._take(value), strict=True))
        for name, one in self._others:
            made[name] = one.of(value)
        return made

    def column(self, values: Column) -> Column:
        """Many structs, changed; null stays null."""
        if isinstance(values, StructColumns):
            return values.with_columns({name: one.of_columns(values.columns) for name, one in self.fields.items()})
        return [None if one is None else self.row(one) for one in values]


def _taking(names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda value: [value[name] for name in names]


def kept(
    one: Field,
    *,
    replace_null: bool,
    convert: Callable[[Any], Any] | None = None,
    convert_array: Callable[[Column], Column | None] | None = None,
) -> FieldChange:
    """A field that is taken over; `replace_null` puts its default where it is null (Connect's `Struct.get`)."""
    return FieldChange(one.name, default_of(one.schema) if replace_null else None, convert, convert_array)


def struct_like(schema: Schema, fields: Iterable[Field]) -> Schema:
    """A struct with other fields but the name, version, doc and parameters of a schema (`copySchemaBasics`)."""
    made = tuple(fields)
    names = set()
    for one in made:
        if one.name in names:
            raise DataError(f"Cannot create field because of field name duplication {one.name}")
        names.add(one.name)
    return Schema(
        Type.STRUCT,
        name=schema.name,
        version=schema.version,
        doc=schema.doc,
        parameters=schema.parameters,
        fields=made,
    )


def filled(column: Column, default: Any) -> Column:
    """A column with a default where it is null."""
    if isinstance(column, StructColumns):
        return column
    if is_arrow(column):
        from eosfw.builtin.transforms.fields.arrow_columns import filled_array

        return filled_array(column, default)
    return [default if one is None else one for one in column] if None in column else column
