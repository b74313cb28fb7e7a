"""With transaction.boundary=connector a transaction of the database is one of Kafka."""

from __future__ import annotations

import pytest

from .reading import reading


class Ends:
    """Counts what the task asks for."""

    def __init__(self):
        self.asked = 0

    def commit(self):
        self.asked += 1


@pytest.fixture
def properties(postgres_server, session):
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    session.execute("CREATE TABLE items (id int PRIMARY KEY)")
    return postgres_server.properties | {"snapshot.mode": "no_data", "poll.interval.ms": 20, "max.batch.size": 4}


def transactions(properties, session, count, **more):
    """The topics of the records of each transaction of Kafka, and all headers."""
    ends, found, headers, open_ = Ends(), [], [], []
    with reading(properties | more, transaction=ends) as task:
        task.until_drained()
        ends.asked = 0
        yield
        while len(task.records) < count or ends.asked:
            batches = task.poll()
            for batch in batches:
                open_ += [batch.topic.rpartition(".")[2]] * len(batch)
                headers += batch.headers or [()] * len(batch)
            if ends.asked:
                found.append(open_)
                open_, ends.asked = [], 0
    yield found, headers


def test_a_transaction_over_several_tables_stays_whole(properties, session):
    """PGC-08: over several polls, too."""
    steps = transactions(properties, session, 8)
    next(steps)
    with session.transaction():
        session.execute("INSERT INTO orders SELECT generate_series(1, 5)")
        session.execute("INSERT INTO items SELECT generate_series(1, 2)")
    session.execute("INSERT INTO orders VALUES (6)")

    assert next(steps)[0] == [["orders"] * 5 + ["items"] * 2, ["orders"]]


def test_a_long_transaction_is_cut_and_says_so(properties, session):
    """PGC-08: max.transaction.records, with a header."""
    steps = transactions(properties, session, 7, **{"max.transaction.records": 3})
    next(steps)
    session.execute("INSERT INTO orders SELECT generate_series(1, 7)")

    found, headers = next(steps)

    assert list(map(len, found)) == [3, 3, 1]
    continues = (("eosfw.transaction.continues", b"true"),)
    assert headers == [(), (), continues, (), (), continues, ()]
