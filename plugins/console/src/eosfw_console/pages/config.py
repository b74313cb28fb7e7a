"""The properties of a connector as a form, by the definitions of its plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from eosfw_console.config_validation import FIXED, Property, Validation, validated
from eosfw_console.pages.connector import HIDDEN
from eosfw_console.pages.page import Page, PageRequest
from eosfw_console.worker_client import WorkerClient, connector_path

_UNGROUPED: Final = "Connector"
"""Those that every connector has are in groups; those of one connector often are not, and matter most."""
_UNDEFINED: Final = "Not defined by the connector"
_BOOLEANS: Final = ("true", "false")


def config_page(request: PageRequest) -> Page:
    """`/ui/connectors/{connector}/config`."""
    name = request.parameters["connector"]
    config = stored_config(request.client, name)
    return form_page(name, config, config, validated(request.client, config), saved="saved" in request.query)


def form_page(
    connector: str,
    stored: Mapping[str, str],
    wanted: Mapping[str, str],
    validation: Validation,
    *,
    problem: str | None = None,
    saved: bool = False,
    status: int = 200,
) -> Page:
    """The form with what the visitor wants, and what is wrong with it beside each field."""
    groups = _groups(stored, wanted, validation)
    shown = {row["name"]: row for _, rows in groups for row in rows}
    return Page(
        "config.html",
        (),
        {
            "connector": connector,
            "connector_class": wanted.get("connector.class", ""),
            "groups": groups,
            "faulty": [row for row in shown.values() if row["errors"]],
            "other_errors": [text for name, texts in validation.errors.items() if name not in shown for text in texts],
            "problem": problem,
            "saved": saved,
        },
        status,
    )


def preview_page(
    connector: str, stored: Mapping[str, str], patch: Mapping[str, str | None], validation: Validation, key: str
) -> Page:
    """What will change, without secrets; `key` is the id under which the change is kept."""
    changes = [
        {
            "name": name,
            "old": _shown(name, stored.get(name), validation),
            "new": _shown(name, value, validation),
            "hidden": validation.is_hidden(name),
        }
        for name, value in patch.items()
    ]
    return Page("config_preview.html", (), {"connector": connector, "changes": changes, "key": key})


def stored_config(client: WorkerClient, connector: str) -> Mapping[str, str]:
    """The properties of a connector as they are now."""
    found: Mapping[str, str] = client.get(connector_path(connector, "config"))
    return found


def _shown(name: str, value: str | None, validation: Validation) -> str | None:
    return HIDDEN if value is not None and validation.is_hidden(name) else value


def _groups(
    stored: Mapping[str, str], wanted: Mapping[str, str], validation: Validation
) -> Sequence[tuple[str, Sequence[Mapping[str, Any]]]]:
    """The rows of the form under the names of their groups, in the order of the definitions."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in (_UNGROUPED, *validation.groups, _UNDEFINED)}
    # Without a group all have one order: what has to be given comes first.
    for one in sorted(validation.properties.values(), key=_place):
        if one.name not in FIXED and (one.visible or one.name in wanted or one.name in stored):
            row = _row(one.name, stored, wanted, validation) | _defined(
                one, wanted, hidden=validation.is_hidden(one.name)
            )
            found.setdefault(one.definition["group"] or _UNGROUPED, []).append(row)
    undefined = {*stored, *wanted} - {*validation.properties, *FIXED}
    found[_UNDEFINED] = [_row(name, stored, wanted, validation) for name in sorted(undefined)]
    numbered = enumerate(row for rows in found.values() for row in rows)
    for number, row in numbered:
        row["id"] = f"property-{number}"
    return [(name, rows) for name, rows in found.items() if rows]


def _place(one: Property) -> tuple[int, bool]:
    return one.definition["order"], not one.definition["required"]


def _row(name: str, stored: Mapping[str, str], wanted: Mapping[str, str], validation: Validation) -> dict[str, Any]:
    hidden = validation.is_hidden(name)
    return {
        "name": name,
        "label": name,
        "doc": "",
        "control": "secret",
        "required": False,
        "default": None,
        "recommended": (),
        "errors": validation.errors.get(name, ()),
        "text": "" if hidden else wanted.get(name, ""),
        "stored_text": "" if hidden else stored.get(name, ""),
        "is_stored": name in stored,
        "is_removed": name in stored and name not in wanted,
        # What was typed is not sent back.
        "retype": hidden and name in wanted and wanted[name] != stored.get(name),
    }


def _defined(one: Property, wanted: Mapping[str, str], *, hidden: bool) -> dict[str, Any]:
    definition, text = one.definition, wanted.get(one.name, "")
    return {
        "label": definition["display_name"],
        "doc": definition["documentation"] or "",
        "control": "secret" if hidden else _control(one, text),
        "required": definition["required"],
        "default": definition["default_value"],
        "recommended": _BOOLEANS if definition["type"] == "BOOLEAN" else one.recommended,
    }


def _control(one: Property, text: str) -> str:
    if "\n" in text or "\r" in text:
        return "lines"
    # A reference to a config provider is a value that no list has.
    return "choice" if one.definition["type"] == "BOOLEAN" and text in ("", *_BOOLEANS) else "text"
