import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from books import BOOKED, OPEN, ROLLED_BACK

from eosfw_journal import TABLE


@pytest.fixture
def properties(tmp_path: Path) -> dict[str, object]:
    """A journal: a transaction, one that is rolled back, two more, one that is still open."""
    rows: list[tuple[str, str | None]] = []
    for changes, end in [
        (BOOKED[0], "commit"),
        (ROLLED_BACK, "rollback"),
        (BOOKED[1], "commit"),
        (BOOKED[2], "commit"),
    ]:
        rows += [*(("change", change) for change in changes), (end, None)]
    rows.append(("change", OPEN))
    with closing(sqlite3.connect(tmp_path / "books.db")) as database:
        database.execute(TABLE)
        database.executemany("INSERT INTO journal (what, value) VALUES (?, ?)", rows)
        database.commit()
    # Two rows a poll: transactions go on over several polls, and polls over several transactions.
    return {"database": tmp_path / "books.db", "batch.size": 2}
