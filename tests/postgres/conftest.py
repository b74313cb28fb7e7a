"""Offer servers of older versions to the tests that say what the connector reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest

from .programs import OLDER, OwnServer, older_programs, short_folder

EVERY, OLDEST = tuple(OLDER), (min(OLDER),)
VERSIONED = {
    "test_incremental_snapshot": OLDEST,
    "test_refusals": OLDEST,
    "test_snapshot": OLDEST,
    "test_streaming": EVERY,
    "test_table_changes": OLDEST,
    "test_transactions": OLDEST,
    "test_types_by_the_server": EVERY,
}
"""Modules whose tests run against older versions, too, and which."""
NEWEST = "newest"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat tests for each version; `uv run tox` has the newest one alone."""
    module = metafunc.module.__name__.rpartition(".")[2]
    if module in VERSIONED and "running_postgres" in metafunc.fixturenames:
        versions = [pytest.param(version, marks=pytest.mark.ci) for version in VERSIONED[module]]
        metafunc.parametrize("postgres_version", [NEWEST, *versions], scope="session")


@pytest.fixture(scope="session")
def postgres_version() -> int | str:
    """Of tests that are not repeated."""
    return NEWEST


@pytest.fixture(scope="session")
def running_postgres(
    request: pytest.FixtureRequest, postgres_version: int | str, unavailable: Callable[[str, str], NoReturn]
) -> Iterator[Any]:
    """A PostgreSQL with wal_level=logical for all tests: use `postgres_server`."""
    if isinstance(postgres_version, str):
        from .server import served

        with served() as server:
            yield server
        return
    with short_folder() as folder:
        try:
            programs = older_programs(postgres_version, folder)
        except Exception as why:  # noqa: BLE001 - jgo raises whatever its downloader raises
            unavailable("kafka", f"no PostgreSQL {postgres_version} from Maven Central: {why}")
        server = OwnServer(programs, folder / "server" / "data")
        yield server
        server.stop()
