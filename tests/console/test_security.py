"""The console changes nothing for others, and shows no secret (UIC-04, UIC-05)."""

from __future__ import annotations

import pytest
from tests.rest.raw_http import exchange

from eosfw_console import submission
from eosfw_rest.authentication import token_line

SECRET = "hunter2"
ORDERS = {"name": "orders", "connector.class": "file", "file": "x", "topic": "t"}


@pytest.fixture(autouse=True)
def orders(herder):
    herder.put_connector("orders", {**ORDERS, "connection.password": SECRET, "unheard.of": SECRET})


def test_a_form_of_the_page_does_what_it_says(browser, herder):
    assert browser.get("/ui/connectors/orders").status == 200

    answer = browser.submit("/ui/connectors/orders/actions", action="pause")

    assert (answer.status, answer.headers["location"]) == (303, "/ui/connectors/orders?asked=pause")
    assert herder.done == ["pause orders"]
    assert "Pause: asked for." in browser.get(answer.headers["location"]).text


@pytest.mark.parametrize(
    ("headers", "fields", "reason"),
    [
        ({"Origin": "http://evil.example"}, {}, "comes from a page of another origin"),
        ({"Origin": "null"}, {}, "comes from a page of another origin"),
        ({"Sec-Fetch-Site": "cross-site"}, {}, "comes from a page of another site"),
        ({"Sec-Fetch-Site": "same-site"}, {}, "comes from a page of another site"),
        ({"Sec-Fetch-Site": "same-origin"}, {"token": "guessed"}, "the form is not of this browser"),
        ({}, {"token": "guessed"}, "the form is not of this browser"),
        ({}, {"token": ""}, "the form is not of this browser"),
        ({"Cookie": ""}, {}, "the form is not of this browser"),
        ({"Cookie": "eosfw-console="}, {"token": ""}, "the form is not of this browser"),
    ],
)
def test_a_forged_form_changes_nothing(browser, herder, headers, fields, reason):
    browser.get("/ui/connectors/orders")

    answer = browser.submit("/ui/connectors/orders/actions", headers, action="pause", **fields)

    assert answer.status == 403
    assert f"Nothing was changed: {reason}" in answer.text.replace("&#39;", "'") or reason in answer.text
    assert herder.done == []


def test_a_form_passes_a_proxy_that_names_the_worker_as_its_host(browser, herder):
    """As nginx does by default; the browser vouches for the page."""
    browser.get("/ui/connectors/orders")
    headers = {"Origin": "https://console.example", "Sec-Fetch-Site": "same-origin"}

    answer = browser.submit("/ui/connectors/orders/actions", headers, action="pause")

    assert answer.status == 303
    assert herder.done == ["pause orders"]


@pytest.mark.parametrize("form", ["actions", "config/check", "config/save", "offsets/preview", "offsets/apply"])
def test_every_form_is_refused_where_it_is_forged(browser, herder, form):
    """The checks of a submission are one for all forms; the table above has each of them."""
    herder.states["orders"] = "STOPPED"
    browser.get("/ui/connectors/orders")

    answers = [
        browser.submit(f"/ui/connectors/orders/{form}", action="pause", reset="all", token="guessed"),
        browser.submit(f"/ui/connectors/orders/{form}", {"Origin": "http://evil.example"}, action="pause", reset="all"),
    ]

    assert [one.status for one in answers] == [403, 403]
    assert (herder.done, herder.patches) == ([], [])


def test_other_origins_can_neither_frame_a_page_nor_run_scripts_in_it(browser):
    headers = browser.get("/ui").headers

    policy = dict(one.strip().split(" ", 1) for one in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]


def test_a_page_has_no_script_style_or_handler_of_its_own(browser):
    """The policy would refuse them."""
    for path in ("/ui", "/ui/connectors/orders", "/ui/transactions", "/ui/connectors/nobody"):
        text = browser.get(path).text
        assert "style=" not in text
        assert " onclick" not in text
        assert text.count("<script") == text.count('<script src="/ui/static/console.js" defer>') == 1


def test_a_read_only_console_has_no_buttons_and_refuses_forms(opened, herder):
    browser = opened(read_only="true")

    page = browser.get("/ui/connectors/orders").text
    answer = browser.submit("/ui/connectors/orders/actions", action="pause")

    assert "<button name=" not in page
    assert "read-only" in page
    assert answer.status == 403
    assert "rest.extension.classes.console.read.only is true" in answer.text
    assert herder.done == []


def test_passwords_and_unknown_properties_are_hidden(browser):
    """A property that no plugin defines may be a secret with a wrong name."""
    page = browser.get("/ui/connectors/orders").text

    assert SECRET not in page
    assert page.count("(hidden)") == 2
    assert "<code>connector.class</code>" in page


def test_the_console_lies_behind_the_sign_in(opened, tmp_path):
    token, line = token_line("operator")
    (tmp_path / "credentials").write_text(line + "\n")
    browser = opened(**{"rest.authentication.file": str(tmp_path / "credentials")})

    for path in ("/ui", "/ui/live", "/ui/static/console.js", "/ui/connectors/orders"):
        assert browser.get(path).status == 401
    assert browser.get("/ui", Authorization=f"Bearer {token}").status == 200


@pytest.mark.parametrize("name", ["<script>alert(1)<script>", "..", 'q" onx="', "%2e%2e", "ü ?&#"])
def test_a_name_stays_text_wherever_it_stands(browser, herder, name):
    herder.put_connector(name, {"connector.class": "file", "topic": name})

    group = browser.get("/ui").text
    links = [part.partition('"')[0] for part in group.split('<th scope="row"><a href="')[1:]]

    assert "<script>alert" not in group
    assert all(" " not in link and "<" not in link for link in links)
    pages = [browser.get(link).text for link in links]
    assert len(pages) == 2
    assert all("<script>alert" not in page and ' onx="' not in page for page in pages)


def test_a_form_that_is_too_large_is_not_read(browser, herder):
    browser.get("/ui/connectors/orders")

    answer = browser.submit("/ui/connectors/orders/actions", action="pause", more="x" * 300_000)

    assert answer.status == 413
    assert herder.done == []


def test_a_form_that_never_arrives_is_given_up(browser, monkeypatch):
    monkeypatch.setattr(submission, "BODY_SECONDS", 0.2)
    head = "POST /ui/connectors/orders/actions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\ntoken="

    status, page = exchange(browser.url.removeprefix("http://"), head.encode())

    assert status == 408
    assert b"The form did not arrive in time." in page


def test_an_action_that_is_refused_says_why(browser, herder):
    browser.get("/ui/connectors/orders")

    unknown = browser.submit("/ui/connectors/orders/actions", action="delete")
    missing = browser.submit("/ui/connectors/nobody/actions", action="pause")

    assert (unknown.status, missing.status) == (400, 404)
    assert "The form names no action that the console knows." in unknown.text
    assert "Connector nobody not found" in missing.text
    assert herder.done == []
