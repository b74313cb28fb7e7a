"""Tell a page that cannot be run here."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from typing import NoReturn

import pytest
from tests.docs.pages import NEEDS

MODULES = {"kafka": "jgo", "spark": "pyspark"}


@pytest.fixture
def needed(unavailable: Callable[[str, str], NoReturn]) -> Callable[[str], None]:
    """Skip a page that needs what is not here, or fail it where that was promised."""

    def check(page: str) -> None:
        if page not in NEEDS:
            return
        what = NEEDS[page]
        if shutil.which("java") is None:
            unavailable(what, f"{page} needs Java 17 or later")
        if find_spec(MODULES[what]) is None:
            unavailable(what, f"{page} needs {MODULES[what]}")

    return check
