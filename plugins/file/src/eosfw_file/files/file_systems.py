"""File systems of fsspec, which URLs name."""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from eosfw.errors import ConfigError, DamagedDataError, Problem, RetriableError

PROPERTY: Final = "file"
REMEDY: Final = "restore the file as it was, or give the connector another name to read it from the beginning"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(//|:)")
_CHAIN: Final = "::"
_TIMES: Final = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "modified", "created")
"""Where file systems say that a file is another one than before; the time of the last access is none of it."""


def is_url(path: str) -> bool:
    """Whether a path is a URL of fsspec, rather than a file of this machine."""
    return _URL.match(path) is not None


def url_problem(url: str) -> str | None:
    """Why a URL is not taken; None if it is."""
    try:
        secret = any(urlsplit(part).password for part in url.split(_CHAIN))
    except ValueError:
        return "there is a URL that is none; correct it"
    return "a URL has a password, which source offsets would show; give it by storage.options" if secret else None


@dataclass(frozen=True, slots=True)
class FileInfo:
    """What a file system says of a file: its size, and a text that changes with its content."""

    size: int
    version: str


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file system: its URL, and its path there."""

    url: str
    system: Any
    path: str

    def at(self, path: str) -> Location:
        """Another place in the same file system."""
        head, chain, rest = self.url.partition(_CHAIN)
        if not head.endswith(self.path):  # the file system writes paths in another way
            return Location(self.system.unstrip_protocol(path), self.system, path)
        return Location(f"{head.removesuffix(self.path)}{path}{chain}{rest}", self.system, path)

    def info(self) -> FileInfo | None:
        """Ask the file system anew; None if there is no such file."""
        self.system.invalidate_cache()
        try:
            found = self.system.info(self.path)
        except FileNotFoundError:
            return None
        told = next((str(found[one]) for one in _TIMES if found.get(one) is not None), "")
        return FileInfo(int(found["size"] or 0), f"{found['size']}:{told}") if found["type"] == "file" else None

    def files(self) -> list[Location]:
        """The visible files that the path names, as a file, folder or pattern."""
        self.system.invalidate_cache()
        if _has_magic(self.path):
            found = self.system.glob(self.path, detail=True).values()
        elif self.system.isdir(self.path):
            found = [one for one in self.system.ls(self.path, detail=True) if not _hidden(one["name"])]
        else:
            return [self] if self.info() is not None else []
        return [self.at(path) for path in sorted(one["name"] for one in found if one["type"] == "file")]


class FileSystems:
    """Opens places by their URLs with one set of options."""

    def __init__(self, options: str | None) -> None:
        self._options: Mapping[str, Any] = {} if options is None else storage_options(options)

    def location(self, url: str) -> Location:
        """The place that a URL names; ConfigError if its kind is unknown, or a library for it is missing."""
        try:
            core = importlib.import_module("fsspec.core")
        except ImportError:
            raise _refused(f"{url} needs a library: pip install 'eosfw-file[fsspec]'") from None
        with translated(url):
            try:
                system, path = core.url_to_fs(url, **self._options)
            except (ImportError, ValueError) as why:  # which say what to install, or that the kind is not known
                raise _refused(f"{url} cannot be opened: {why}") from None
            except FileNotFoundError:  # of a chain
                raise _refused(f"{url} cannot be opened: there is no such file; correct the URL") from None
            except TypeError:
                raise ConfigError(Problem("storage.options", f"they are not those that {url} takes")) from None
        return Location(url, system, path)


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Raise this project's errors in the place of those of fsspec and the libraries below it, without their texts.

    Their texts may have a signature of a request, so that they are not shown. Whatever is not known to last may pass.
    """
    try:
        yield
    except (ConfigError, DamagedDataError):
        raise
    except FileNotFoundError:
        raise DamagedDataError(f"{url} disappeared while it was read; {REMEDY}") from None
    except PermissionError:
        raise _refused(f"{url} may not be read; give the right to, or credentials by storage.options") from None
    except Exception as why:  # noqa: BLE001 each file system has errors of its own
        name = type(why).__name__
        if "Credential" in name or "Auth" in name:
            raise _refused(f"{url} cannot be read: {name}; give credentials by storage.options") from None
        raise RetriableError(f"{url} cannot be read now: {name}", retry_after=1.0) from None


def storage_options(text: str) -> dict[str, Any]:
    """The options of a JSON object; ValueError, without its text, for anything else."""
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        raise ValueError("expected a JSON object, such as fsspec's storage options")  # noqa: TRY004 of a text
    return options


def _refused(what: str) -> ConfigError:
    return ConfigError(Problem(PROPERTY, what))


def _has_magic(path: str) -> bool:
    return any(one in path for one in "*?[")


def _hidden(path: str) -> bool:
    return os.path.basename(path.rstrip("/")).startswith(".")
