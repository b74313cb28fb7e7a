"""Changing the source offsets of a stopped connector, with a preview."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from eosfw_console.forms.form import FormRequest
from eosfw_console.offset_changes import OffsetChange, digest, offset_changes, parsed_offset
from eosfw_console.pages.offsets import FIELD, Remark, committed_offsets, page_with_remark, preview_page
from eosfw_console.pages.page import Page
from eosfw_console.worker_client import RestError, connector_path

_log = logging.getLogger(__name__)

_CHANGED: Final = (
    "Nothing was changed: the offsets are no longer those that you saw, so look at what they are now, and begin anew."
)
_NOTHING: Final = "Nothing is to be done: no offset differs from what is committed."


def preview_offsets(form: FormRequest) -> Page:
    """Show what would be changed; changes nothing."""
    offsets, seen = committed_offsets(form.client, form.connector), form.fields.get("seen", "")
    if digest(offsets) != seen:
        return _page(form, Remark(problem=_CHANGED, status=409))
    if "reset" in form.fields:
        changes = [OffsetChange(one["partition"], one["offset"], None) for one in offsets]
        return preview_page(form.connector, changes, seen, reset=True)
    texts = {name.removeprefix(FIELD): text for name, text in form.fields.items() if name.startswith(FIELD)}
    typed, errors = _parsed(texts)
    if errors:
        return _page(form, Remark(typed=texts, errors=errors, status=400))
    changes = offset_changes(offsets, typed)
    return preview_page(form.connector, changes, seen, reset=False) if changes else _page(form, Remark(done=_NOTHING))


def apply_offsets(form: FormRequest) -> Page:
    """Change what the preview showed, if the offsets are still those that it showed."""
    if digest(committed_offsets(form.client, form.connector)) != form.fields.get("seen"):
        return _page(form, Remark(problem=_CHANGED, status=409))
    path = connector_path(form.connector, "offsets")
    if "reset" in form.fields:
        answer = form.client.change("DELETE", path)
    else:
        answer = form.client.change("PATCH", path, {"offsets": _previewed(form.fields)})
    _log.info("offsets of connector %s were changed in the console", form.connector)
    # Not a redirect: what the worker says of offsets that are kept elsewhere belongs in front of the operator. The
    # same form, sent again, is refused, since the offsets have changed.
    return _page(form, Remark(done=answer["message"]))


def _page(form: FormRequest, remark: Remark) -> Page:
    return page_with_remark(form.page, form.fields.get("from", ""), remark)


def _parsed(texts: Mapping[str, str]) -> tuple[dict[str, Mapping[str, Any] | None], dict[str, str]]:
    found: dict[str, Mapping[str, Any] | None] = {}
    errors: dict[str, str] = {}
    for partition, text in texts.items():
        try:
            found[partition] = parsed_offset(text)
        except ValueError as why:
            errors[partition] = str(why)
    return found, errors


def _previewed(fields: Mapping[str, str]) -> Sequence[Any]:
    try:
        found = json.loads(fields.get("changes", ""))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise RestError(400, "The form does not say what to change: begin anew at the page of the offsets.")
    return found
