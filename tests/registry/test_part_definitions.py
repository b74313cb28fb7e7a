"""What user interfaces are shown of the parts that a connector chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from eosfw.config import Config, ConfigDef, Password, String
from eosfw.records import SourceRecord
from eosfw.registry import Plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin
from eosfw.registry.part_definitions import with_part_definitions


def _tables(values: Mapping[str, Any]) -> list[str]:
    return [f"{values['schema']}.orders"]


class Joined:
    """A transformation whose table depends on its schema."""

    name: ClassVar[str] = "joined"
    config: ClassVar = ConfigDef(
        String("table", recommended=_tables, visible=lambda values: values["schema"] != "none"),
        String("schema", "public", display_name="Schema", dependents=("table",)),
        Password("password", None),
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""

    def apply(self, record: SourceRecord) -> SourceRecord:
        return record


def shown(**given: str) -> ConfigDef:
    plugins = Plugins([RegisteredPlugin("transformation", Joined, PluginSource("test", "1", "test"))], ())
    texts = {name.replace("_", "."): text for name, text in given.items()}
    return with_part_definitions(ConfigDef(), plugins, {}, texts, {"transforms": ("a",), "predicates": ("p",)})


def test_a_part_is_asked_with_its_own_values() -> None:
    """PLG-33: by its own names, whatever those of the connector are."""
    table = shown(transforms_a_type="joined", transforms_a_schema="s").keys["transforms.a.table"]
    hidden = shown(transforms_a_type="joined", transforms_a_schema="none").keys["transforms.a.table"]

    assert table.recommended is not None
    assert table.recommended({"schema": "of the connector"}) == ["s.orders"]
    assert table.visible is not None
    assert hidden.visible is not None
    assert (table.visible({}), hidden.visible({})) == (True, False)


def test_the_properties_of_a_part_stand_behind_its_alias() -> None:
    """PLG-33: what depends on what, too; a password stays one."""
    keys = shown(transforms_a_type="joined").keys

    assert keys["transforms.a.schema"].dependents == ("transforms.a.table",)
    assert keys["transforms.a.schema"].display_name == "Schema"
    assert keys["transforms.a.table"].display_name == "table"
    assert isinstance(keys["transforms.a.password"], Password)
    assert {key.group for key in keys.values()} == {"Transforms: a", "Predicates: p"}
    assert keys["predicates.p.type"].display_name == "Predicate type for p"


def test_a_part_whose_class_is_unknown_has_what_all_have() -> None:
    """PLG-33: the class is named by the validation."""
    for kind in ("nobody", " "):
        assert set(shown(transforms_a_type=kind).keys) == {
            *(f"transforms.a.{name}" for name in ("type", "plugin.version", "negate", "predicate")),
            *(f"predicates.p.{name}" for name in ("type", "plugin.version")),
        }
