"""What a visitor changes of a connector's properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PLAIN: Final = "property:"
"""Before the name of a property in the name of a field that shows its value."""
SHOWN: Final = "shown:"
"""Before the name of a property in the name of a field with the value that the visitor saw."""
SECRET: Final = "secret:"  # noqa: S105 - the name of a field
"""Before the name of a property in the name of a field that never shows its value."""
REMOVED: Final = "remove:"
"""Before the name of a property in the name of a box that removes a hidden value."""
NEW_NAME: Final = "new-name"
NEW_VALUE: Final = "new-value"


def wanted_config(config: Mapping[str, str], fields: Mapping[str, str]) -> dict[str, str]:
    """The properties with what a form changes; what the visitor left as it was shown stays as it is stored now."""
    wanted = dict(config)
    for field, typed in fields.items():
        text = _lines(typed)
        if field.startswith(PLAIN):
            name = field.removeprefix(PLAIN)
            if text != _lines(fields.get(SHOWN + name, "")):
                _change(wanted, name, text or None)
        elif field.startswith(SECRET) and text:
            wanted[field.removeprefix(SECRET)] = text
        elif field.startswith(REMOVED):
            _change(wanted, field.removeprefix(REMOVED), None)
    if name := fields.get(NEW_NAME, "").strip():
        wanted[name] = _lines(fields.get(NEW_VALUE, ""))
    return wanted


def hidden_names(fields: Mapping[str, str]) -> frozenset[str]:
    """The properties whose values the form did not show."""
    return frozenset(name.removeprefix(SECRET) for name in fields if name.startswith(SECRET))


def config_patch(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str | None]:
    """What differs, as `PATCH /connectors/NAME/config` takes it: None removes a property."""
    return {name: new.get(name) for name in sorted({*old, *new}) if old.get(name) != new.get(name)}


def patched(config: Mapping[str, str], patch: Mapping[str, str | None]) -> dict[str, str]:
    """The properties after a patch."""
    return {name: value for name, value in {**config, **patch}.items() if value is not None}


def _change(config: dict[str, str], name: str, value: str | None) -> None:
    if value is None:
        config.pop(name, None)
    else:
        config[name] = value


def _lines(text: str) -> str:
    """Browsers send each end of a line as CR LF, whatever it was."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
