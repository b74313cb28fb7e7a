"""The Python functions that steps name."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

Function = Callable[..., Any]


@contextmanager
def importable(folder: str) -> Iterator[None]:
    """Put a folder first on the import path."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def load(name: str, folder: str) -> Function:
    """Import `module:name` from a folder; ImportError or the module's own exception when that fails."""
    module_name, colon, function_name = name.partition(":")
    if not (module_name and colon and function_name):
        raise ImportError(f"function {name!r} is not written as module:name")
    with importable(folder):
        importlib.invalidate_caches()
        module = importlib.import_module(module_name)
    function = getattr(module, function_name, None)
    if not callable(function):
        raise ImportError(f"module {module_name} has no function {function_name!r}")  # noqa: TRY004 - callers ask whether it can be imported
    return function  # type: ignore[no-any-return]


def mismatch(function: Function, tables: Sequence[str]) -> str | None:
    """Why a function cannot be called with these tables as keyword arguments; None if it can."""
    try:
        inspect.signature(function).bind(**dict.fromkeys(tables))
    except TypeError as why:
        return f"cannot be called with the tables {', '.join(tables)} as keyword arguments: {why}"
    except ValueError:
        return None  # a builtin without a signature
    return None
