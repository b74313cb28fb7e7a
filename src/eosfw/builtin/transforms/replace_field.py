"""The transformation that leaves out and renames fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from eosfw.builtin.transforms.fields.field_transformation import REPLACE_NULL, FieldTransformation
from eosfw.builtin.transforms.fields.key_or_value import variants
from eosfw.builtin.transforms.fields.struct_change import StructChange, kept, struct_like
from eosfw.config import Config, ConfigDef, List
from eosfw.data import Field, Schema

__all__ = ["ReplaceFieldKey", "ReplaceFieldValue"]


@dataclass(frozen=True, slots=True)
class _Renames(List):
    """Names with those that replace them, as OLD:NEW."""

    def parse(self, text: str) -> Mapping[str, str]:  # type: ignore[override]
        made = {}
        for item in List.parse(self, text):
            parts = item.split(":")
            while parts and not parts[-1]:  # as Java splits texts
                parts.pop()
            if len(parts) != 2:
                raise ValueError(f"Invalid rename mapping: {item}")
            made[parts[0]] = parts[1]
        return made

    def shown(self, value: Mapping[str, str]) -> str:
        return ",".join(f"{old}:{new}" for old, new in value.items())


class ReplaceField(FieldTransformation):
    """Leaves out and renames fields (Kafka Connect's `ReplaceField`)."""

    purpose: ClassVar[str] = "field replacement"
    config: ClassVar = ConfigDef(
        List("exclude", (), "fields to leave out, even if `include` names them", importance="MEDIUM"),
        List("include", (), "fields to keep, if not all", importance="MEDIUM"),
        _Renames("renames", {}, "fields to rename, as OLD:NEW,...", importance="MEDIUM"),
        REPLACE_NULL,
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        self._exclude, self._include = frozenset(config["exclude"]), frozenset(config["include"])
        self._renames: Mapping[str, str] = config["renames"]
        self._replace_null = config["replace.null.with.default"]
        self.remember()

    def changed_map(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {self._renames.get(name, name): one for name, one in value.items() if self._keeps(name)}

    def change_for(self, schema: Schema) -> StructChange:
        left = [(self._renames.get(one.name, one.name), one) for one in schema.fields if self._keeps(one.name)]
        made = struct_like(schema, (Field(name, one.schema) for name, one in left))
        return StructChange(made, {name: kept(one, replace_null=self._replace_null) for name, one in left})

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)


ReplaceFieldKey, ReplaceFieldValue = variants(ReplaceField)
