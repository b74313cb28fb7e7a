"""Somebody who follows a tutorial to the letter gets through.

A file of its own, so that the tutorials run beside the other pages where tests run side by side by files.
"""

from __future__ import annotations

import pytest
from tests.docs.pages import TUTORIALS, marked
from tests.docs.running import Reader


@pytest.mark.timeout(240)
@pytest.mark.parametrize("page", [marked(page) for page in TUTORIALS])
def test_what_a_tutorial_shows_is_what_happens(page, tmp_path, needed):
    """Issue: every command and code block is run by a test."""
    needed(page)

    Reader(tmp_path).follow(page)
