"""The buttons of a connector's page."""

from __future__ import annotations

import logging

from eosfw_console.actions import action_named
from eosfw_console.forms.form import FormRequest, Redirect
from eosfw_console.worker_client import RestError, connector_path

_log = logging.getLogger(__name__)


def connector_action(form: FormRequest) -> Redirect:
    """Do what a button says."""
    action = action_named(form.fields.get("action", ""))
    if action is None:
        raise RestError(400, "The form names no action that the console knows.")
    action.perform(form.client, form.connector)
    _log.info("%s of connector %s was asked for in the console", action.name, form.connector)
    return Redirect(f"/ui{connector_path(form.connector)}?asked={action.name}")
