"""Names that Avro allows, and what Confluent's converters make of others."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote_plus

from eosfw.errors import DataError
from eosfw_schema_registry.avro.form import AvroForm

_NAME: Final = re.compile(r"[^\W\d]\w*")
_SCRUBBED: Final = re.compile("[^A-Za-z0-9_]")


def split_name(form: AvroForm, full: str) -> tuple[str | None, str]:
    """The namespace and the name that a schema's name says; DataError if Avro does not allow it."""
    parts = [scrubbed(one) for one in full.split(".")] if form.scrub else full.split(".")
    _check_name(parts[-1])
    return ".".join(parts[:-1]) or None, parts[-1]


def field_name(form: AvroForm, name: str) -> str:
    """The name of a field; DataError if Avro does not allow it."""
    made = scrubbed(name) if form.scrub else name
    _check_name(made)
    return made


def scrubbed(name: str) -> str:
    """A name with what Avro does not allow replaced, as Confluent's converters do it."""
    if not _SCRUBBED.search(name) and not name[:1].isdigit():
        return name
    encoded = quote_plus(name, safe="*").replace("~", "%7E")  # as Java has it
    return _SCRUBBED.sub("_", f"x{encoded}" if encoded[:1].isdigit() else encoded)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise DataError(f"{name!r} is no name in Avro: say scrub.invalid.names=true, or name it by letters, digits, _")
