"""The files of a new project, from templates in this package."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from string import Template

from eosfw import __version__
from eosfw.cli.new.project_kinds import CONNECTOR, ProjectKind
from eosfw.cli.new.project_names import ProjectNames
from eosfw.errors import ConfigError, Problem


def write(names: ProjectNames, folder: Path, kind: ProjectKind = CONNECTOR) -> None:
    """Write a project into a new folder: all of it, or nothing.

    Raises ConfigError when the folder exists, even empty, or cannot be written.
    """
    project = _filled(names, kind)
    with _new(folder):
        for place, text in project.items():
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")


def _filled(names: ProjectNames, kind: ProjectKind) -> Mapping[str, str]:
    """The text of each file, by its path."""
    words = {
        "name": names.name,
        "distribution": names.distribution,
        "module": names.module,
        "class_prefix": names.class_prefix,
        "role": kind.role,
        "summary": kind.summary.format(name=names.name),
        "version": __version__,
    }
    return {
        place.format(module=names.module): Template(_template(kind, name)).substitute(words)
        for name, place in kind.paths.items()
    }


def _template(kind: ProjectKind, name: str) -> str:
    """The template of a kind, else that which all kinds share."""
    templates = files(__package__) / "templates"
    own = templates / kind.folder / f"{name}.template"
    return (own if own.is_file() else templates / "common" / f"{name}.template").read_text(encoding="utf-8")


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
