"""The databases of the tests: each by the same few calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from .mariadb import MariaDB, served


class Postgres:
    """The PostgreSQL of all tests."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.url = f"postgresql+psycopg://postgres@/postgres?host={server.host}"
        self.kill, self.start = server.kill, server.start

    def execute(self, *statements: str) -> None:
        """Execute statements, each in a transaction of its own."""
        with self._server.connect() as session:
            for statement in statements:
                session.execute(statement)

    @contextmanager
    def locked(self, table: str) -> Iterator[None]:
        """Lock a table as ALTER TABLE does."""
        with self._server.connect() as session, session.transaction():
            session.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield


@pytest.fixture(scope="session")
def running_mariadb() -> Iterator[MariaDB]:
    """A MariaDB for all tests: use `mariadb`."""
    with served() as server:
        yield server


@pytest.fixture
def mariadb(running_mariadb: MariaDB) -> Iterator[MariaDB]:
    """A MariaDB without tables."""
    yield running_mariadb
    running_mariadb.clean()


@pytest.fixture
def postgresql(postgres_server: Any) -> Postgres:
    """A PostgreSQL without tables."""
    return Postgres(postgres_server)


@pytest.fixture(params=["postgresql", pytest.param("mariadb", marks=pytest.mark.ci)])
def database(request: pytest.FixtureRequest) -> Any:
    """Each server in turn, without tables: `url`, `execute`, `kill`, `start`."""
    return request.getfixturevalue(request.param)
