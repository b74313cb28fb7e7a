"""Offsets of a stopped connector are changed after a preview that says what will happen (UIC-08)."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.protocols.herder import ConnectorOffset
from eosfw_console.offset_changes import OffsetChange, effect, offset_changes, offset_text, parsed_offset

PAGE = "/ui/connectors/orders/offsets"
FIELD = 'offset:{"filename": "x"}'
OTHER = 'offset:{"filename": "y"}'


@pytest.fixture(autouse=True)
def orders(herder):
    herder.put_connector("orders", {"connector.class": "file"})
    herder.stored["orders"].offsets.append(ConnectorOffset({"filename": "y"}, {"position": 3}))
    herder.states["orders"] = "STOPPED"


def hidden_fields(page: str) -> dict[str, str]:
    return {
        name: html.unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="(.*?)">', page)
    }


def previewed(browser, **fields: str):
    return browser.submit(f"{PAGE}/preview", **{**hidden_fields(browser.get(PAGE).text), **fields})


def applied(browser, preview: str, **fields: str):
    return browser.submit(f"{PAGE}/apply", **{**hidden_fields(preview), **fields})


def offsets(herder) -> dict[str, Any]:
    return {one.partition["filename"]: one.offset for one in herder.stored["orders"].offsets}


def test_a_preview_says_how_far_an_offset_goes_and_changes_nothing(browser, herder):
    preview = previewed(browser, **{FIELD: '{"position": 4}', OTHER: '{"position": 1003}'})

    text = html.unescape(preview.text)
    assert preview.status == 200
    assert "position goes back by 10, from 14 to 4. What lies between is read again" in text
    assert "position goes forward by 1,000, from 3 to 1003. What lies between is skipped" in text
    assert offsets(herder) == {"x": {"position": 14}, "y": {"position": 3}}
    assert herder.done == []


def test_what_the_preview_showed_is_applied_and_nothing_else(browser, herder):
    preview = previewed(browser, **{FIELD: '{"position": 4}', OTHER: '{"position":3}'})

    answer = applied(browser, preview.text)

    assert answer.status == 200
    assert "The offsets for this connector have been altered successfully" in answer.text
    assert offsets(herder) == {"x": {"position": 4}, "y": {"position": 3}}
    assert "One offset will be changed" in preview.text


def test_an_empty_field_deletes_its_offset(browser, herder):
    preview = previewed(browser, **{FIELD: " "})
    applied(browser, preview.text)

    assert "as if it had never read it" in preview.text
    assert offsets(herder) == {"y": {"position": 3}}


def test_all_offsets_are_reset_by_a_button_of_its_own(browser, herder):
    preview = previewed(browser, reset="all")

    assert "All 2 offsets will be deleted" in preview.text
    assert herder.done == []
    assert applied(browser, preview.text).status == 200
    assert herder.done == ["reset offsets of orders"]
    assert offsets(herder) == {}


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ('{"position": 4', "This is no JSON: Expecting ',' delimiter at line 1, column 15."),
        ("14", "An offset is a JSON object"),
        ('{"position": [1]}', "The value of position must be a text, a number, true, false or null."),
        ('{"position": 1e999}', "The value of position must be a text, a number, true, false or null."),
        ('{"position": NaN}', "NaN is no JSON."),
        ('{"position": 1, "position": 2}', "This has a name twice in one object"),
        ('{"a": "\\ud800"}', "half of a surrogate pair"),
        ("[" * 20_000, "nested too deep"),
        ("</textarea><script>alert(1)</script>", "This is no JSON"),
    ],
)
def test_what_is_no_offset_is_said_beside_its_field_which_keeps_it(browser, herder, typed, sentence):
    answer = previewed(browser, **{FIELD: typed, OTHER: '{"position": 99}'})

    text = html.unescape(answer.text)
    assert answer.status == 400
    assert re.search(r'<p class="error" id="error-1">[^<]*' + re.escape(sentence), text)
    assert 'aria-invalid="true" aria-describedby="error-1">' in text
    assert f">\n{html.escape(typed, quote=False)}</textarea>" in answer.text.replace("&#34;", '"')
    assert '>\n{"position": 99}</textarea>' in text
    assert "<script>alert" not in answer.text
    assert herder.done == []


def test_offsets_that_changed_since_they_were_seen_are_not_overwritten(browser, herder):
    preview = previewed(browser, **{FIELD: '{"position": 4}'})
    form = hidden_fields(browser.get(PAGE).text)
    herder.stored["orders"].offsets[1] = ConnectorOffset({"filename": "y"}, {"position": 4})

    answers = [applied(browser, preview.text), browser.submit(f"{PAGE}/preview", **form, **{FIELD: "{}"})]

    assert [one.status for one in answers] == [409, 409]
    assert all("Nothing was changed: the offsets are no longer those that you saw" in one.text for one in answers)
    assert herder.done == []


def test_applying_twice_changes_once(browser, herder):
    preview = previewed(browser, **{FIELD: '{"position": 4}'})

    assert [applied(browser, preview.text).status for _ in range(2)] == [200, 409]
    assert herder.done == ["alter offsets of orders"]


def test_without_a_difference_there_is_nothing_to_apply(browser):
    assert "Nothing is to be done" in previewed(browser, **{FIELD: '{ "position":14 }'}).text


def test_a_connector_that_runs_has_to_be_stopped_first(browser, herder):
    herder.states.clear()

    page = browser.get(PAGE).text

    assert "stop it first" in page
    assert "<textarea" not in page
    assert "<form" not in page
    assert "14" in page


def test_a_read_only_console_shows_offsets_without_a_form(opened, herder):
    browser = opened(read_only="true")

    page = browser.get(PAGE).text
    answers = [browser.submit(f"{PAGE}/{step}", reset="all") for step in ("preview", "apply")]

    assert "<form" not in page
    assert "14" in page
    assert [one.status for one in answers] == [403, 403]
    assert herder.done == []


@pytest.mark.parametrize("changes", ["", "{", "{}", "[" * 20_000])
def test_a_form_that_was_tampered_with_is_refused(browser, herder, changes):
    preview = previewed(browser, **{FIELD: '{"position": 4}'})

    assert applied(browser, preview.text, changes=changes).status == 400
    assert herder.done == []


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><b>', "\ud800", "ü\u2028"])
def test_partitions_and_offsets_stay_text(browser, herder, name):
    herder.stored["orders"].offsets[:] = [ConnectorOffset({name: name}, {name: name})]

    page = browser.get(PAGE)
    (field,) = re.findall(r'name="(offset:.*?)"', page.text)
    preview = browser.submit(f"{PAGE}/preview", **{**hidden_fields(page.text), html.unescape(field): ""})

    for answer in (page, preview):
        assert answer.status == 200
        assert "<script>alert" not in answer.text
        assert "<b>" not in answer.text
    assert applied(browser, preview.text, **hidden_fields(preview.text)).status == (400 if name == "\ud800" else 200)


def test_thousands_of_partitions_are_on_pages(browser, herder):
    herder.stored["orders"].offsets[:] = [ConnectorOffset({"filename": f"{n:04}"}, {"position": n}) for n in range(120)]

    page = browser.get(f"{PAGE}?from=50").text
    invalid = browser.submit(f"{PAGE}/preview", **hidden_fields(page), **{'offset:{"filename": "0050"}': "{"}).text

    assert page.count("<textarea") == 50
    assert "51 to 100 of 120" in page
    assert "51 to 100 of 120" in invalid
    assert "reset all 120" in page


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        ({"lsn": 1, "last": False}, {"lsn": 2, "last": True}, ["lsn goes forward by 1", "last changes", "only the"]),
        (
            {"a": 1, "b": 1},
            {"a": 2, "b": 0},
            ["a goes forward by 1", "b goes back by 1", "only the"],
        ),
        ({"at": 0.1}, {"at": 0.3}, ["at goes forward by 0.2, from 0.1 to 0.3.", "is skipped"]),
        ({"id": "b"}, {"id": "a"}, ['id changes from "b" to "a".', "only the connector can tell"]),
        ({"id": 1}, {"no": 1}, ["id is removed; it was 1.", "no is added: 1.", "only the connector can tell"]),
        ({"id": 1}, {"id": 1.0}, ["id changes from 1 to 1.0.", "only the connector can tell"]),
        ({"id": None}, {}, ["id is removed; it was null.", "only the connector can tell"]),
    ],
)
def test_an_effect_is_described_as_far_as_it_can_be_known(old, new, sentences):
    found = effect(OffsetChange({}, old, new))

    assert len(found) == len(sentences)
    assert all(part in sentence for part, sentence in zip(sentences, found, strict=True))


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
OFFSETS = st.dictionaries(st.text(), VALUES, max_size=3)


@given(
    st.lists(st.tuples(OFFSETS, OFFSETS, st.none() | OFFSETS), unique_by=lambda one: offset_text(one[0]), max_size=4)
)
def test_changes_applied_to_the_old_offsets_give_the_new_ones(rows):
    old = [{"partition": partition, "offset": offset} for partition, offset, _ in rows]
    typed = {offset_text(partition): new for partition, _, new in rows}

    found = offset_changes(old, typed)

    after = {offset_text(one["partition"]): one["offset"] for one in old}
    after |= {offset_text(one.partition): one.new for one in found}
    assert {key: offset_text(one) for key, one in after.items()} == {
        key: offset_text(one) for key, one in typed.items()
    }
    assert all(effect(one) for one in found)


@given(OFFSETS)
def test_an_offset_that_was_not_touched_is_no_change(offset):
    try:
        typed = parsed_offset(offset_text(offset))
    except ValueError:  # half of a surrogate pair, which no client can send
        return
    assert offset_changes([{"partition": {}, "offset": offset}], {"{}": typed}) == []
    assert json.loads(offset_text(offset)) == typed
