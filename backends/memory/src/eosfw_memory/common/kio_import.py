"""Import kio without Hypothesis.

kio registers its types with Hypothesis where that is installed, that is, where people test. This broker does not use
it, the import takes a second, and Hypothesis leaves a folder behind in the working directory.
"""

from __future__ import annotations

import importlib
import sys

_HYPOTHESIS = "hypothesis.strategies"


def _import_without_hypothesis() -> None:
    if _HYPOTHESIS in sys.modules:
        return  # it is imported already: nothing is left to save
    # A module whose entry in `sys.modules` is None cannot be imported; kio takes that for "not installed".
    sys.modules[_HYPOTHESIS] = None  # type: ignore[assignment]
    try:
        importlib.import_module("kio.static.primitive")
    finally:
        del sys.modules[_HYPOTHESIS]


_import_without_hypothesis()
