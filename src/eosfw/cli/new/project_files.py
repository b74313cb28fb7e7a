"""The files of a new project, from templates in this package."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from string import Template

from eosfw import __version__
from eosfw.cli.new.project_names import ProjectNames
from eosfw.errors import ConfigError, Problem

_PATHS = {
    "README.md": "README.md",
    "pyproject.toml": "pyproject.toml",
    "tox.ini": "tox.ini",
    "pipeline.toml": "pipeline.toml",
    "gitignore": ".gitignore",
    "workflow.yml": ".github/workflows/test.yml",
    "connector.py": "src/{module}/__init__.py",
    "py.typed": "src/{module}/py.typed",
    "test_contract.py": "tests/test_contract.py",
    "test_zombies.py": "tests/test_zombies.py",
}
"""The path of each template's file. Templates end in `.template`, so that no tool takes them for code."""


def write(names: ProjectNames, folder: Path) -> None:
    """Write the project of a connector into a new folder: all of it, or nothing.

    Raises ConfigError when the folder exists, even empty, or cannot be written.
    """
    project = _filled(names)
    with _new(folder):
        for place, text in project.items():
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")


def _filled(names: ProjectNames) -> Mapping[str, str]:
    """The text of each file, by its path."""
    words = {
        "name": names.name,
        "distribution": names.distribution,
        "module": names.module,
        "class_prefix": names.class_prefix,
        "version": __version__,
    }
    templates = files(__package__) / "templates" / "connector"
    return {
        place.format(module=names.module): Template(
            (templates / f"{template}.template").read_text(encoding="utf-8")
        ).substitute(words)
        for template, place in _PATHS.items()
    }


@contextmanager
def _new(folder: Path) -> Iterator[None]:
    """Create the folder; remove it if the block raises."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ConfigError(
            Problem(str(folder), "exists already; nothing is overwritten: choose another --output")
        ) from None
    except OSError as why:
        raise _unwritable(folder, why) from why
    try:
        yield
    except OSError as why:
        shutil.rmtree(folder, ignore_errors=True)
        raise _unwritable(folder, why) from why
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _unwritable(folder: Path, why: OSError) -> ConfigError:
    return ConfigError(Problem(str(folder), f"cannot be written: {why.strerror or why}"))
