"""The catalog that a tap is started with: which streams it reads, and how."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from eosfw.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def with_choices(
    catalog: Any, streams: Collection[str], replication_keys: Mapping[str, str], full_tables: Collection[str]
) -> dict[str, Any]:
    """A catalog in which these streams alone are selected, all that it has if none are named, with their keys.

    A stream is named by its `tap_stream_id` or its `stream`. ConfigError for one that the catalog does not have.
    """
    if not isinstance(catalog, dict) or not isinstance(catalog.get("streams"), list):
        raise ConfigError(Problem("catalog", "it is no catalog of Singer: it has no list `streams`"))
    changed = deepcopy(catalog)
    entries = [one for one in changed["streams"] if isinstance(one, dict)]
    for where, names in (
        ("streams", streams),
        ("replication.keys", replication_keys),
        ("full.table.streams", full_tables),
    ):
        _refuse_unknown(where, names, entries)
    for entry in entries:
        try:
            if streams:
                _select(entry, chosen=not _names(entry).isdisjoint(streams))
            key = next((replication_keys[name] for name in _names(entry) if name in replication_keys), None)
            if key is not None:
                _set(entry, {"replication-method": "INCREMENTAL", "replication-key": key})
            elif not _names(entry).isdisjoint(full_tables):
                _set(entry, {"replication-method": "FULL_TABLE"})
        except (TypeError, AttributeError):
            name = min(_names(entry), default="")
            raise ConfigError(Problem("catalog", f"the metadata of its stream {name!r} are none of Singer's")) from None
    return changed


def _names(entry: Mapping[str, Any]) -> set[str]:
    return {str(entry[name]) for name in ("tap_stream_id", "stream") if name in entry}


def _refuse_unknown(where: str, names: Collection[str], entries: Collection[Mapping[str, Any]]) -> None:
    known = {name for entry in entries for name in _names(entry)}
    for name in names:
        if name not in known:
            some = ", ".join(sorted(known)[:10]) or "none"
            raise ConfigError(Problem(where, f"the tap has no stream {name!r}; it has: {some}"))


def _select(entry: dict[str, Any], *, chosen: bool) -> None:
    # Old taps look at the schema, new ones at the metadata.
    if isinstance(entry.get("schema"), dict):
        entry["schema"]["selected"] = chosen
    entry["selected"] = chosen
    _set(entry, {"selected": chosen})


def _set(entry: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Set metadata of the stream, beside what old taps read from the entry itself."""
    rows = entry.setdefault("metadata", [])
    whole = next((one for one in rows if one.get("breadcrumb") in ([], ())), None)
    if whole is None:
        whole = {"breadcrumb": [], "metadata": {}}
        rows.append(whole)
    whole.setdefault("metadata", {}).update(values)
    for name, value in values.items():
        if name != "selected":
            entry[name.replace("-", "_")] = value
