"""The reference says what the code says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from eosfw import hookspecs
from eosfw.errors import ExitCode

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_properties_is_up_to_date():
    """Run `python docs/reference/properties_page.py` after changing a definition."""
    page = runpy.run_path(str(DOCS / "reference" / "properties_page.py"))["page"]

    assert (DOCS / "reference" / "properties.md").read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("hook", sorted(name for name in vars(hookspecs) if name.startswith("eosfw_")))
def test_every_hook_is_in_the_reference(hook):
    """A plugin author finds each door on one page."""
    assert f"`{hook}`" in (DOCS / "reference" / "hooks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", ExitCode)
def test_every_exit_code_is_in_the_reference(code):
    """A script that runs the command can tell all endings apart."""
    assert f"| {int(code)} |" in (DOCS / "reference" / "exit-codes.md").read_text(encoding="utf-8")
