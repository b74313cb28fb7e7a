"""Changing the properties of a connector: a check with a preview, then saving."""

from __future__ import annotations

import logging
from typing import Final

from eosfw_console.config_changes import config_patch, hidden_names, patched, wanted_config
from eosfw_console.config_validation import FIXED, validated, without_secrets
from eosfw_console.forms.form import FormRequest, Redirect
from eosfw_console.pages.config import form_page, preview_page, stored_config
from eosfw_console.pages.page import Page
from eosfw_console.pending_changes import MAX_AGE, PendingChange
from eosfw_console.worker_client import RestError, connector_path

_log = logging.getLogger(__name__)

_NOTHING: Final = "Nothing is to be saved: you changed nothing."
_FIXED: Final = (
    f"Nothing was changed: {' and '.join(FIXED)} stay, else it is another connector; create that one instead."
)
_GONE: Final = (
    f"Nothing was saved: what you checked is no longer kept. It was saved already, is older than {MAX_AGE / 60:.0f} "
    "minutes, or was checked on another worker, or before this one started. Check it again."
)
_CHANGED: Final = (
    "Nothing was saved: somebody changed the properties since you checked yours. Look at what they are now, and check "
    "again."
)


def check_config(form: FormRequest) -> Page:
    """Show what would change, or what is wrong with it; changes nothing."""
    stored = stored_config(form.client, form.connector)
    wanted = wanted_config(stored, form.fields)
    if any(wanted.get(name) != stored.get(name) for name in FIXED):
        raise RestError(400, _FIXED)
    validation = validated(form.client, wanted, hidden_names(form.fields))
    if validation.errors:
        return form_page(form.connector, stored, wanted, validation, status=400)
    patch = config_patch(stored, wanted)
    if not patch:
        return form_page(form.connector, stored, wanted, validation, problem=_NOTHING)
    key = form.pending.add(PendingChange(form.connector, stored, patch))
    return preview_page(form.connector, stored, patch, validation, key)


def save_config(form: FormRequest) -> Page | Redirect:
    """Save what was checked, if the properties are still those that it starts from."""
    key = form.fields.get("key", "")
    change = form.pending.find(key, form.connector)
    if change is None:
        return _refused(form, _GONE, 410)
    if stored_config(form.client, form.connector) != change.config:
        form.pending.remove(key)
        return _refused(form, _CHANGED, 409)
    try:
        form.client.change("PATCH", connector_path(form.connector, "config"), dict(change.patch))
    except RestError as why:
        raise _without_secrets(form, change, why) from None
    form.pending.remove(key)
    _log.info("properties of connector %s were changed in the console: %s", form.connector, ", ".join(change.patch))
    return Redirect(f"/ui{connector_path(form.connector, 'config')}?saved=yes")


def _refused(form: FormRequest, problem: str, status: int) -> Page:
    config = stored_config(form.client, form.connector)
    validation = validated(form.client, config)
    return form_page(form.connector, config, config, validation, problem=problem, status=status)


def _without_secrets(form: FormRequest, change: PendingChange, why: RestError) -> RestError:
    wanted = patched(change.config, change.patch)
    return RestError(why.status, without_secrets(why.message, wanted, validated(form.client, wanted)))
