"""Every command of the long pages runs as shown.

A file of its own, so that these pages run beside the others where tests run side by side by files.
"""

from __future__ import annotations

import pytest
from tests.docs.page_runner import Reader
from tests.docs.pages import LONG, fences, marked


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", [marked(page) for page in LONG])
def test_long_pages_show_actual_output(page, tmp_path, needed):
    """Issue: every command and code block is run by a test."""
    needed(page)

    assert Reader(tmp_path).follow(page) == len(fences(page))
