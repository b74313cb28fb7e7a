"""Write a page of each public module, which autodoc fills from its docstrings."""

from __future__ import annotations

import importlib
import re
import runpy
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from types import GenericAlias, UnionType
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.typing import stringify_annotation

_FOLDER = "docs/site/api"
_INDEX = "docs/reference/modules"
_ALIASES = (GenericAlias, UnionType)


def public_modules(root: Path) -> list[str]:
    """The modules of the page "Public modules", in its order."""
    chapters = runpy.run_path(str(root / "docs" / "reference" / "modules_page.py"))["PUBLIC"]
    return [name for names in chapters.values() for name in names]


def module_page(name: str, modules: Sequence[str]) -> str:
    """A page with each public name of a module."""
    blocks = [name, "=" * len(name), "", f".. automodule:: {name}", "   :no-members:", ""]
    module = importlib.import_module(name)
    for member in module.__all__:
        blocks += _member(name, member, getattr(module, member), modules)
    return "\n".join([*blocks, ""])


def _member(name: str, member: str, value: Any, modules: Sequence[str]) -> Iterator[str]:
    home = _home(name, member, value, modules)
    yield ""
    if home != name:
        yield f".. py:attribute:: {member}"
        yield "   :no-index:"
        yield ""
        yield f"   The same as :py:obj:`{home}.{member}`."
    elif isinstance(value, type):
        yield f".. {'autoexception' if issubclass(value, BaseException) else 'autoclass'}:: {name}.{member}"
        yield "   :members:"
        if issubclass(value, Enum):
            yield "   :undoc-members:"
        if any(base.__module__.startswith(("eosfw", "pytest_eos")) for base in value.__bases__):
            yield "   :show-inheritance:"
    elif _is_function(value):
        yield f".. autofunction:: {name}.{member}"
    elif isinstance(value, _ALIASES):
        yield f".. py:type:: {member}"
        yield f"   :canonical: {stringify_annotation(value, 'smart')}"
    elif ("", member) in ModuleAnalyzer.for_module(name).find_attr_docs():
        yield f".. autodata:: {name}.{member}"
        yield "   :no-value:"
    else:
        # autodoc would show the docstring of the value's type.
        yield f".. py:data:: {member}"
        yield f"   :type: {type(value).__name__}"
        yield from [f"   :value: {value!r}"] if isinstance(value, str | int) else []


def _is_function(value: Any) -> bool:
    return hasattr(value, "__code__") or hasattr(value, "__wrapped__")


def _home(name: str, member: str, value: Any, modules: Sequence[str]) -> str:
    """Of the public modules that have this very value, the one that is nearest to where it is defined."""
    if not isinstance(value, type) and not _is_function(value):
        return name
    owners = [one for one in map(importlib.import_module, modules) if member in one.__all__]
    same = [one.__name__ for one in owners if getattr(one, member) is value]
    return max(same, key=lambda one: len(one) if f"{value.__module__}.".startswith(f"{one}.") else 0)


def type_aliases(modules: Sequence[str]) -> dict[str, str]:
    """The full names of public type aliases: signatures show these, not what they stand for."""
    members = [(name, member) for name in modules for member in importlib.import_module(name).__all__]
    return {
        member: f"{name}.{member}"
        for name, member in members
        if isinstance(getattr(importlib.import_module(name), member), _ALIASES)
    }


def _signature(
    app: Sphinx, what: str, _name: str, value: Any, _options: Any, arguments: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """A signature with the short names of type aliases; none of a class that nobody calls."""
    if what == "class" and (getattr(value, "_is_protocol", False) or issubclass(value, Enum)):
        return "", None
    return _shortened(app, arguments), _shortened(app, returned)


def _shortened(app: Sphinx, text: str | None) -> str | None:
    for full in app.config.autodoc_type_aliases.values() if text else ():
        # autodoc shows its own class of forward references where an alias is the argument of another type.
        text = re.sub(rf"\bTypeAliasForwardRef\('{full}'\)|(?<![~.\w]){full}\b", f"~{full}", str(text))
    return text


def _write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir, _FOLDER)
    folder.mkdir(exist_ok=True)
    modules = public_modules(Path(app.srcdir))
    app.config.autodoc_type_aliases = type_aliases(modules)
    pages = {f"{name}.rst": module_page(name, modules) for name in modules}
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


def _add_toctree(app: Sphinx, name: str, source: list[str]) -> None:
    if name == _INDEX:
        documents = [f"/{_FOLDER}/{module}" for module in public_modules(Path(app.srcdir))]
        source[0] = "\n".join([source[0], "```{toctree}", ":hidden:", "", *documents, "```", ""])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _add_toctree)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
