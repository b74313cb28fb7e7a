"""Read the users of listeners from a file, again once it has changed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from eosfw.config.named_file import content_state, read_text
from eosfw.config.properties_file import parse_properties
from eosfw.errors import ConfigError, Problem

USERS_FILE: Final = "eosfw.users.file"
_LOG = logging.getLogger(__name__)


class UsersFile:
    """A properties file with a line `NAME=PASSWORD` for each user."""

    def __init__(self, path: Path) -> None:
        """Read the file; raise ConfigError."""
        self._path = path
        self._seen = content_state(path)
        self._passwords = self._read()

    def passwords(self) -> Mapping[str, str]:
        """The users with their passwords now, or as before if the file cannot be read.

        The same object until the file changes. One thread may call, the network's.
        """
        seen = content_state(self._path)
        if seen != self._seen:
            # Also of a file with a mistake: it is told once, and read again when it is written again.
            self._seen = seen
            try:
                self._passwords = self._read()
            except ConfigError as why:
                _LOG.warning("the users stay as they were: %s", why)
            else:
                _LOG.info("%s was read again: %d users", self._path, len(self._passwords))
        return self._passwords

    def _read(self) -> Mapping[str, str]:
        try:
            found = parse_properties(read_text(self._path))
        except OSError as why:
            raise ConfigError(Problem(USERS_FILE, f"{self._path} cannot be read: {why.strerror}")) from None
        except UnicodeDecodeError:
            raise ConfigError(Problem(USERS_FILE, f"{self._path} is not text in UTF-8")) from None
        except ValueError as why:
            raise ConfigError(Problem(USERS_FILE, f"{self._path}: {why}")) from None
        if empty := [name for name, password in found.items() if not password]:
            raise ConfigError(Problem(USERS_FILE, f"{self._path}: user {empty[0]!r} has no password"))
        return found
