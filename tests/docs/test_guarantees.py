"""The page of guarantees and the tests that it points at say the same."""

from __future__ import annotations

import runpy

import pytest
from tests.docs.pages import ROOT

MADE = runpy.run_path(str(ROOT / "docs" / "reference" / "guarantees_page.py"))
Guarantee, Mention, problems = MADE["Guarantee"], MADE["Mention"], MADE["problems"]

A_TEST = "tests/kip98/test_it.py"
A_HELPER = "tests/kip98/it.py"


def row(state, missing=""):
    return Guarantee("PRD-01", "It holds.", "KIP-98", state, missing)


def named(name="PRD-01", module=A_TEST):
    return Mention(name, module, "test_it")


def test_guarantee_rows_and_tests_agree():
    """Every id that a test names has a row, every row that is shown has a test."""
    assert list(problems(MADE["guarantees"](), MADE["mentions"]())) == []


@pytest.mark.parametrize("tree", ["src", "backends", "plugins", "pytest_eos", "benchmarks"])
def test_every_id_that_code_names_has_a_row(tree):
    """Comments and texts included."""
    rows = {each.id for each in MADE["guarantees"]()}
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / tree).rglob("*.py")}

    assert len(texts) > 5
    assert [
        f"{path}: {name}" for path, text in texts.items() for name in MADE["ids_in"](text) if name not in rows
    ] == []


@pytest.mark.parametrize(
    ("rows", "found", "problem"),
    [
        ([row("shown")], [named(), named("PRD-99")], f"{A_TEST}::test_it names PRD-99, which no row defines"),
        ([row("shown")], [], "PRD-01 is said to be 'shown', and no test names it"),
        ([row("part", "the rest")], [], "PRD-01 is said to be 'part', and no test names it"),
        (
            [row("shown")],
            [named(module=A_HELPER)],
            "PRD-01 is said to be 'shown', and no test names it",
        ),
        ([row("not yet")], [named()], f"{A_TEST}::test_it names PRD-01, whose row says 'not yet'"),
        ([row("part")], [named()], "PRD-01 is shown in part, and does not say what is missing"),
        ([row("soon")], [named()], "PRD-01 has the state 'soon', which is none of shown, part, not yet"),
    ],
)
def test_a_row_and_a_test_that_contradict_each_other_are_named(rows, found, problem):
    """A planted contradiction of each kind; a helper beside the tests shows nothing."""
    assert list(problems(rows, found)) == [problem]


def test_ids_are_found_in_the_docstrings_of_modules_classes_and_functions(tmp_path, monkeypatch):
    """A range stands for all of its ids; comments, and names that only look like ids, count for nothing."""
    module = tmp_path / "tests" / "test_it.py"
    module.parent.mkdir()
    module.write_text(
        '"""PRD-01, KIP-98, UTF-16."""\n\nclass TestIt:\n    """PRD-02."""\n\n'
        '    async def test_it(self):\n        """PRD-03..05, again PRD-03."""  # PRD-06\n'
    )
    monkeypatch.setitem(MADE["mentions"].__globals__, "ROOT", tmp_path)

    found = [(mention.id, mention.test) for mention in MADE["mentions"]()]

    ranged = [(f"PRD-0{number}", "test_it") for number in (3, 4, 5)]
    assert found == [("PRD-01", "the module"), ("PRD-02", "TestIt"), *ranged]


@pytest.mark.parametrize("group", MADE["groups"]())
def test_the_rows_of_a_group_are_in_order_and_of_its_kind(group):
    """Who looks an id up finds it where it belongs."""
    ids = [each.id for each in MADE["groups"]()[group]]

    assert ids == sorted(ids)
    assert {each[:3] for each in ids} == {group[-3:]}
