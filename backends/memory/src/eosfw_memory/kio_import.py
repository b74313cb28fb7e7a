"""Import kio without Hypothesis.

kio's types offer themselves to Hypothesis wherever it is installed, which is where people test. Nobody here asks for
that, it costs a second, and Hypothesis leaves a folder behind where it is imported.
"""

from __future__ import annotations

import importlib
import sys

_OFFERED_TO = "hypothesis.strategies"


def _import_offering_types() -> None:
    if _OFFERED_TO in sys.modules:
        return  # somebody else has paid
    # What `None` stands for in `sys.modules` cannot be imported: kio takes that for "not installed".
    sys.modules[_OFFERED_TO] = None  # type: ignore[assignment]
    try:
        importlib.import_module("kio.static.primitive")
    finally:
        del sys.modules[_OFFERED_TO]


_import_offering_types()
