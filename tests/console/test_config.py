"""Properties are changed in a form of the plugin's definitions, after a check that shows the difference (UIC-09)."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clocks import StoppedClock
from eosfw.errors import ConfigError, Problem
from eosfw_console.config_changes import config_patch, patched, wanted_config
from eosfw_console.pending_changes import MAX_AGE, MOST, PendingChange, PendingChanges

from .browser import Answer, Browser

PAGE = "/ui/connectors/orders/config"
SECRET = "hunter2"
TYPED = "correct horse"
ORDERS = {"name": "orders", "connector.class": "file", "file": "x", "topic": "t", "query": "a\r\nb"}
HIDDEN = {"connection.password": SECRET, "unheard.of": SECRET}


@pytest.fixture(autouse=True)
def orders(herder):
    herder.put_connector("orders", ORDERS | HIDDEN)


def fields_of(page: str) -> dict[str, str]:
    """What a browser would send of a page whose fields nobody touched."""
    found = dict(re.findall(r'<input type="(?:hidden|text)" name="([^"]+)" value="([^"]*)"', page))
    found |= dict.fromkeys(re.findall(r'<input type="password" name="([^"]+)"', page), "")
    found |= re.findall(r'<textarea name="([^"]+)"[^>]*>\n([^<]*)</textarea>', page)
    found |= dict.fromkeys(re.findall(r'<select name="([^"]+)"', page), "")
    shown = {html.unescape(name): html.unescape(value) for name, value in found.items()}
    return {name: value.replace("\r\n", "\n").replace("\n", "\r\n") for name, value in shown.items()}


def checked(browser: Browser, **fields: str) -> Answer:
    return browser.submit(f"{PAGE}/check", **{**fields_of(browser.get(PAGE).text), **fields})


def saved(browser: Browser, preview: Answer) -> Answer:
    return browser.submit(f"{PAGE}/save", **fields_of(preview.text))


def test_a_form_has_the_groups_and_words_of_the_definitions(browser):
    page = browser.get(PAGE).text

    assert re.findall(r"<legend>(.*?)</legend>", page)[:3] == ["Common", "Source", "Not defined by the connector"]
    assert re.search(r'<label for="(property-\d+)">File <code>file</code></label>\s*<p class="hint" id="doc-\1">', page)
    assert "What to &lt;read&gt;." in page
    assert re.search(r'<input type="text" name="property:file" value="x" [^>]* list="(list-property-\d+)">', page)
    assert re.search(r'<datalist id="list-property-\d+"><option value="x">', page)
    assert "Default: <code>500</code>" in page
    assert re.findall(r"<option[^>]*>(.*?)</option>", page.partition('name="property:follow"')[2])[:3] == [
        "default: false",
        "true",
        "false",
    ]


def test_a_form_that_nobody_touched_changes_nothing(browser, herder):
    assert "you changed nothing" in checked(browser).text
    assert herder.patches == []


def test_a_check_shows_the_difference_and_changes_nothing(browser, herder):
    preview = checked(browser, **{"property:file": "y", "property:topic": "", "property:batch.size": "7"})

    text = re.sub(r"\s+", " ", preview.text)
    assert preview.status == 200
    for name, old, new in [
        ("batch.size", "not set", "<code>7</code>"),
        ("file", "<code>x</code>", "<code>y</code>"),
        ("topic", "<code>t</code>", "removed"),
    ]:
        assert f'<code>{name}</code></th> <td class="removed">{old}</td> <td class="added">{new}</td>' in text
    assert text.count('scope="row"') == 3
    assert herder.patches == []


def test_saving_sends_what_changed_alone(browser, herder):
    answer = saved(browser, checked(browser, **{"property:file": "y", "property:topic": "", "property:follow": "true"}))

    assert (answer.status, answer.headers["location"]) == (303, f"{PAGE}?saved=yes")
    assert herder.patches == [{"file": "y", "follow": "true", "topic": None}]
    assert "Saved." in browser.get(answer.headers["location"]).text


def test_hidden_values_stay_unless_a_new_one_is_typed(browser, herder):
    saved(browser, checked(browser, **{"property:file": "y"}))
    saved(browser, checked(browser, **{"secret:unheard.of": TYPED, "new-name": " new.secret ", "new-value": TYPED}))
    saved(browser, checked(browser, **{"remove:connection.password": "yes"}))

    assert herder.patches == [
        {"file": "y"},
        {"new.secret": TYPED, "unheard.of": TYPED},
        {"connection.password": None},
    ]


def test_no_page_has_a_secret_neither_stored_nor_typed(browser, herder):
    typed = {"secret:connection.password": TYPED, "new-name": "new.secret", "new-value": TYPED}
    page, preview = browser.get(PAGE), checked(browser, **typed)
    herder.problems = lambda given: [
        Problem("", f"connection.password={given['connection.password']} is {SECRET}, not {TYPED}"),
        Problem("", f"new.secret={given.get('new.secret')} is refused"),
    ]
    refused = checked(browser, **typed)
    herder.problems = lambda _: []

    def refuse(_: str) -> None:
        raise ConfigError(Problem("", f"connection.password={TYPED} is refused"))

    herder.before = refuse
    failed = saved(browser, preview)

    assert [one.status for one in (page, preview, refused, failed)] == [200, 200, 400, 400]
    for one in (page, preview, refused, failed):
        assert SECRET not in one.text
        assert TYPED not in one.text
    assert preview.text.count("(hidden), what you typed") == 2
    assert refused.text.count("Type it again: what you typed is not sent back.") == 2
    assert "connection.password=[hidden] is refused" in failed.text


def test_a_value_that_was_hidden_stays_so_whatever_its_definition_says_now(browser, herder):
    """With another transformation, say, what was a password may be a plain text."""
    form = fields_of(browser.get(PAGE).text)
    herder.stored["orders"].config["query"] = SECRET
    form = {**form, "secret:query": "", "property:file": "y", "remove:query": "yes"}

    preview = browser.submit(f"{PAGE}/check", **form)
    herder.problems = lambda _: [Problem("", f"query={SECRET} is wrong")]
    refused = browser.submit(f"{PAGE}/check", **{**form, "remove:query": "", "new-name": "x"})

    assert (preview.status, refused.status) == (200, 400)
    assert SECRET not in preview.text + refused.text


@pytest.mark.parametrize("name", ["name", "connector.class"])
def test_a_connector_does_not_become_another_one(browser, herder, name):
    answer = checked(browser, **{"new-name": name, "new-value": "other"})

    assert answer.status == 400
    assert "name and connector.class stay" in answer.text
    assert herder.patches == []


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ("orders/config/check", "orders/config"),
        ("a%20%C3%BC/offsets/apply", "a%20%C3%BC/offsets"),
        ("orders/actions", "orders"),
    ],
)
def test_the_address_of_an_answer_leads_back_to_the_form(browser, form, page):
    assert browser.get(f"/ui/connectors/{form}").headers["location"] == f"/ui/connectors/{page}"


def test_errors_are_beside_the_fields_which_keep_what_was_typed(browser, herder):
    herder.problems = lambda _: [Problem("", "batch.size must be a number"), Problem("", "nothing=works")]

    answer = checked(browser, **{"property:batch.size": '"><script>alert(1)</script>', "property:file": "kept"})

    page = answer.text
    assert answer.status == 400
    (field,) = re.findall(r'<input type="text" name="property:batch.size"[^>]*>', page)
    (described,) = re.findall(r'aria-describedby="([^"]*)"', field)
    (error,) = [one for one in described.split() if one.startswith("error-")]
    assert 'aria-invalid="true"' in field
    assert f'<p class="error" id="{error}">batch.size must be a number</p>' in page
    assert all(f'id="{one}"' in page for one in described.split())
    assert html.escape('"><script>alert(1)</script>').replace("&quot;", "&#34;") in field
    assert "<script>alert" not in page
    assert 'name="property:file" value="kept"' in page
    assert herder.patches == []


def test_what_somebody_else_changed_meanwhile_is_not_undone(browser, herder):
    """What a visitor did not touch stays as it is stored now; what was checked before is to be checked again."""
    form = fields_of(browser.get(PAGE).text)
    herder.stored["orders"].config["topic"] = "of somebody else"
    preview = browser.submit(f"{PAGE}/check", **{**form, "property:file": "y"})
    herder.stored["orders"].config["topic"] = "of another one"

    refused = saved(browser, preview)

    assert preview.text.count('scope="row"') == 1
    assert refused.status == 409
    assert "Nothing was saved: somebody changed the properties since you checked yours." in refused.text
    assert herder.patches == []


def test_a_check_that_is_no_longer_kept_cannot_be_saved(browser, herder):
    herder.put_connector("other", ORDERS | {"name": "other"})
    preview = checked(browser, **{"property:file": "y"})

    other = browser.submit("/ui/connectors/other/config/save", **fields_of(preview.text))
    answers = [saved(browser, preview) for _ in range(2)]

    assert [one.status for one in (other, *answers)] == [410, 303, 410]
    assert "what you checked is no longer kept" in answers[1].text
    assert "Check it again." in answers[1].text
    assert herder.patches == [{"file": "y"}]


def test_a_read_only_console_has_no_form_of_properties(opened, herder):
    browser = opened(read_only="true")

    page = browser.get(PAGE).text
    answers = [browser.submit(f"{PAGE}/{step}", key="x") for step in ("check", "save")]

    assert "<form" not in page
    assert "<input" not in page
    assert SECRET not in page
    assert [one.status for one in answers] == [403, 403]
    assert "Change the configuration" not in browser.get("/ui/connectors/orders").text


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><b>'])
def test_names_and_values_of_others_stay_text(browser, herder, name):
    herder.stored["orders"].config |= {name: name, "file": name, "query": name + "\n"}

    page, preview = browser.get(PAGE), checked(browser, **{f"remove:{name}": "yes", "property:file": name + name})

    for one in (page, preview):
        assert one.status == 200
        assert "<script>alert" not in one.text
        assert "<b>" not in one.text
    saved(browser, preview)
    assert herder.patches == [{name: None, "file": name + name}]


def test_what_is_kept_is_bounded_in_number_and_time():
    runtime = StoppedClock()
    kept = PendingChanges(runtime)
    keys = [kept.add(PendingChange("c", {}, {"n": str(n)})) for n in range(MOST + 1)]

    assert len(set(keys)) == MOST + 1
    assert kept.find(keys[0], "c") is None
    assert kept.find(keys[-1], "other") is None
    assert kept.find(keys[1], "c") == PendingChange("c", {}, {"n": "1"})
    runtime.at = MAX_AGE
    assert kept.find(keys[-1], "c") is None


CONFIGS = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=5)


@given(CONFIGS, CONFIGS)
def test_the_difference_applied_to_the_old_properties_gives_the_new_ones(old, new):
    patch = config_patch(old, new)

    assert patched(old, patch) == new
    assert all(old.get(name) != value for name, value in patch.items())


LINES = st.text(st.sampled_from("ab\r\n "), max_size=5)


@given(st.dictionaries(st.text("abc", min_size=1), LINES, max_size=4), st.text("xyz", min_size=1))
def test_only_a_field_that_was_touched_changes_its_property(config, typed):
    """A browser sends each end of a line as CR LF."""

    def sent(text: str) -> str:
        return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")

    form = {f"shown:{name}": sent(text) for name, text in config.items()}
    form |= {f"property:{name}": sent(text) for name, text in config.items()}

    assert wanted_config(config, form) == config
    for name in config:
        assert wanted_config(config, form | {f"property:{name}": typed}) == {**config, name: typed}
