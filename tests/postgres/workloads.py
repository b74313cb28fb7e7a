"""Changes that a test makes in its database."""

from __future__ import annotations

from random import Random

from eosfw_postgres.pgoutput import Change, Commit, PgoutputDecoder

READING = {
    "snapshot.mode": "no_data",
    "value.converter": "json",
    "key.converter": "json",
    "header.converter": "simple",
    "max.batch.size": 7,
    "heartbeat.interval.ms": 0,
    "flush.lsn.source": "false",
}
"""Changes can be read again, as long as the server was not told that they are in Kafka."""
TRANSACTIONS = (
    ["INSERT INTO orders SELECT g, 'order ' || g FROM generate_series(1, 20) AS g"],
    ["UPDATE orders SET note = 'changed' WHERE id <= 5", "INSERT INTO orders VALUES (30, 'Ada')"],
    ["DELETE FROM orders WHERE id IN (7, 8)", "UPDATE orders SET id = 100 WHERE id = 9"],
    ["INSERT INTO orders VALUES (31, 'Grace')"],
    ["DELETE FROM orders WHERE id IN (30, 31)"],
)
CHANGES = 20 + 5 + 1 + 2 * 2 + 3 + 1 + 2 * 2
"""Their records: a deletion has a tombstone, a change of a key is a deletion and a row."""
K = "(SELECT k FROM keys WHERE n = %(one)s)"
OTHER = "(SELECT k FROM keys WHERE n = %(other)s)"
ROW_CHANGES = (
    f"INSERT INTO orders VALUES ({K}, 'new') ON CONFLICT DO NOTHING",
    f"UPDATE orders SET note = note || '.' WHERE id = {K}",
    f"DELETE FROM orders WHERE id = {K}",
    f"UPDATE orders SET id = {OTHER} WHERE id = {K} AND NOT EXISTS (SELECT FROM orders WHERE id = {OTHER})",
)
"""Of a table `orders` with keys that a table `keys` numbers from 1 to 40."""


def make_changes(session) -> dict[str, object]:
    """Make tables, the slot, then changes; return properties with which they are read."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
    session.execute("CREATE PUBLICATION dbz_publication FOR ALL TABLES")
    session.execute("SELECT pg_create_logical_replication_slot('debezium', 'pgoutput')")
    for statements in TRANSACTIONS:
        with session.transaction():
            for statement in statements:
                session.execute(statement)
    return READING


def ends_of(session) -> list[dict[str, int]]:
    """The source offsets of the last records of all transactions."""
    rows = session.execute(
        "SELECT data FROM pg_logical_slot_peek_binary_changes('debezium', NULL, NULL, 'proto_version', '1', "
        "'publication_names', 'dbz_publication')"
    )
    decoder, ends, n = PgoutputDecoder(), [], 0
    for (data,) in rows:
        message = decoder.decode(data)
        n += isinstance(message, Change)
        if isinstance(message, Commit):
            ends.append({"lsn": message.commit_lsn, "n": n, "part": 0})
            n = 0
    return ends


def change_rows(session, rng: Random) -> None:
    """Insert, update, delete and move rows at random."""
    for _ in range(rng.randrange(1, 5)):
        with session.transaction():
            for _ in range(rng.randrange(1, 4)):
                one, other = rng.sample(range(1, 41), 2)
                session.execute(rng.choice(ROW_CHANGES), {"one": one, "other": other})
