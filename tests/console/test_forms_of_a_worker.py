"""The forms of the console on a worker with its own connectors (UIC-08, UIC-09)."""

from __future__ import annotations

import html
import re
import time

import pytest
from tests.rest.conftest import worker, worker_client, worker_herder, worker_plugins

from .browser import PATIENCE, Browser
from .test_config import fields_of
from .test_offsets import hidden_fields

__all__ = ["worker", "worker_client", "worker_herder", "worker_plugins"]

STORED, TYPED = "hunter2", "correct horse"
WEB = {"connector.class": "http", "url": "http://127.0.0.1:9/", "topic": "t", "auth.type": "basic"}


@pytest.fixture
def worker_properties():
    return {"rest.extension.classes": "console"}


@pytest.fixture
def browser(worker):
    return Browser(f"http://{worker}")


@pytest.fixture
def orders(worker_herder, tmp_path):
    """A stopped connector that has read a file to its end."""
    _, herder = worker_herder
    (tmp_path / "orders.csv").write_text("1,Oslo\n2,Rome\n")
    created = {"connector.class": "file", "file": str(tmp_path / "orders.csv"), "topic": "orders"}
    _until(lambda: herder.put_connector("orders", created))
    _until(lambda: herder.connector_offsets("orders"))
    herder.stop_connector("orders")
    _until(lambda: herder.connector_status("orders").connector.state == "STOPPED")
    return herder


def _until(look):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if look():
                return
        except Exception:
            if time.monotonic() > end:
                raise
        assert time.monotonic() < end
        time.sleep(0.1)


def test_offsets_of_a_file_are_set_back_and_reset(browser, orders):
    page = "/ui/connectors/orders/offsets"
    (one,) = orders.connector_offsets("orders")
    form = browser.get(page).text
    ((field, offset),) = re.findall(r'name="(offset:[^"]*)"[^>]*>\n([^<]*)</textarea>', form)
    back = html.unescape(offset).replace('"position": 14', '"position": 7')

    preview = browser.submit(f"{page}/preview", **{**hidden_fields(form), html.unescape(field): back})
    applied = browser.submit(f"{page}/apply", **hidden_fields(preview.text))

    assert "position goes back by 7, from 14 to 7." in preview.text
    assert "have been altered successfully" in applied.text
    assert orders.connector_offsets("orders")[0].offset == {**one.offset, "position": 7}
    reset = browser.submit(f"{page}/preview", **hidden_fields(applied.text), reset="all")
    assert "have been reset successfully" in browser.submit(f"{page}/apply", **hidden_fields(reset.text)).text
    assert orders.connector_offsets("orders") == []


def test_a_password_is_replaced_and_never_shown(browser, worker_herder):
    _, herder = worker_herder
    secrets = {"connection.user": "u", "connection.password": STORED}
    _until(lambda: herder.put_connector("web", WEB | secrets, initial_state="STOPPED"))
    page = "/ui/connectors/web/config"
    form = browser.get(page)

    untouched = browser.submit(f"{page}/check", **fields_of(form.text))
    preview = browser.submit(f"{page}/check", **fields_of(form.text) | {"secret:connection.password": TYPED})
    saved = browser.submit(f"{page}/save", **fields_of(preview.text))

    assert "you changed nothing" in untouched.text
    assert saved.status == 303
    assert herder.connector_info("web").config["connection.password"] == TYPED
    for one in (form, untouched, preview, browser.get(page)):
        assert STORED not in one.text
        assert TYPED not in one.text
