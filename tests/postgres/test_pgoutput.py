"""The messages of pgoutput are decoded from their bytes."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import DamagedDataError
from eosfw_postgres.pgoutput import (
    UNCHANGED,
    Begin,
    Change,
    Column,
    Commit,
    Op,
    PgoutputDecoder,
    Relation,
    Truncate,
    lsn_text,
)
from eosfw_postgres.tuple_arrays import rows_of_tuples

T = Relation(7, "public", "t", "d", (Column("id", 23, -1, True), Column("note", 25, -1, False)))
VALUES = st.one_of(st.text(), st.none(), st.just(UNCHANGED))
ROWS = st.lists(VALUES, max_size=5)


def relation_bytes(relation=T):
    parts = [b"R", struct.pack(">I", relation.oid), relation.namespace.encode(), b"\0", relation.name.encode(), b"\0"]
    parts += [relation.replica_identity.encode(), struct.pack(">H", len(relation.columns))]
    for one in relation.columns:
        parts += [bytes([one.is_key]), one.name.encode(), b"\0", struct.pack(">Ii", one.type_oid, one.typmod)]
    return b"".join(parts)


def row_bytes(row):
    parts = [struct.pack(">H", len(row))]
    for value in row:
        if value is None or value is UNCHANGED:
            parts.append(b"n" if value is None else b"u")
        else:
            text = value.encode()
            parts.append(b"t" + struct.pack(">I", len(text)) + text)
    return b"".join(parts)


@pytest.fixture
def decoder():
    decoder = PgoutputDecoder()
    assert decoder.decode(relation_bytes()) == T
    return decoder


def test_the_frame_of_a_transaction_is_decoded(decoder):
    """PGC-01: the times count from 2000 on the wire, from 1970 here."""
    begin = decoder.decode(b"B" + struct.pack(">QqI", 5, 1, 9))
    commit = decoder.decode(b"C" + struct.pack(">BQQq", 0, 5, 6, 1))

    assert begin == Begin(5, 946_684_800_000_001, 9)
    assert commit == Commit(5, 6, 946_684_800_000_001)


@given(before=ROWS, after=ROWS)
def test_rows_have_texts_nulls_and_unchanged_values(before, after):
    """PGC-01: each kind of change, with the old row, its key, or nothing."""
    decoder = PgoutputDecoder()
    decoder.decode(relation_bytes())
    old, new = row_bytes(before), row_bytes(after)
    oid = struct.pack(">I", 7)

    assert decoder.decode(b"I" + oid + b"N" + new) == Change(Op.CREATE, T, None, after)
    assert decoder.decode(b"U" + oid + b"N" + new) == Change(Op.UPDATE, T, None, after)
    assert decoder.decode(b"D" + oid + b"K" + old) == Change(Op.DELETE, T, before, None)


@given(st.lists(st.tuples(VALUES, VALUES), max_size=5), st.sampled_from([b"K", b"O"]))
def test_an_update_has_of_the_old_row_what_the_new_one_leaves_out(columns, kind):
    """PGC-24: a key that is stored out of line is in the old row alone, where it did not change."""
    decoder = PgoutputDecoder()
    decoder.decode(relation_bytes())
    before, after = [old for old, _ in columns], [new for _, new in columns]
    message = b"U" + struct.pack(">I", 7) + kind + row_bytes(before) + b"N" + row_bytes(after)

    whole = [old if new is UNCHANGED and old is not None else new for old, new in columns]
    assert decoder.decode(message) == Change(Op.UPDATE, T, before, whole)


def test_a_truncate_names_all_its_relations(decoder):
    """PGC-01: several tables may be emptied at once."""
    other = Relation(8, "s", "u", "f", ())
    decoder.decode(relation_bytes(other))

    assert decoder.decode(b"T" + struct.pack(">IBII", 2, 0, 7, 8)) == Truncate((T, other))


def test_a_relation_that_is_sent_again_has_its_new_columns(decoder):
    """PGC-01: a schema may change in the middle of the stream."""
    wider = Relation(7, "public", "t", "d", (*T.columns, Column("more", 25, -1, False)))
    decoder.decode(relation_bytes(wider))

    assert decoder.decode(b"I" + struct.pack(">I", 7) + b"N" + row_bytes(["1", "a", "b"])).relation == wider


@given(st.binary(max_size=40))
def test_bytes_that_are_no_message_are_refused_by_one_error(noise):
    """PGC-01: none of the value is shown."""
    decoder = PgoutputDecoder()
    decoder.decode(relation_bytes())
    with suppress(DamagedDataError):
        decoder.decode(noise)


def test_a_row_that_is_cut_off_is_refused(decoder):
    """PGC-01."""
    whole = b"I" + struct.pack(">I", 7) + b"N" + row_bytes(["1", "secret"])
    for end in range(len(whole)):
        with pytest.raises(DamagedDataError) as caught:
            decoder.decode(whole[:end])
        assert "secret" not in str(caught.value)


@given(st.lists(ROWS, min_size=1), st.integers(1, 3), st.integers(0, 20), st.data())
def test_many_rows_are_decoded_as_each(rows, width, cut, data):
    """PGC-70: none of them if a value was not sent, the number of values is another, or one is cut off."""
    if data.draw(st.booleans()):
        rows = [(row * width + [None] * width)[:width] for row in rows]
    messages = [b"I" + struct.pack(">I", 7) + b"N" + row_bytes(row) for row in rows]
    if data.draw(st.booleans()):
        messages[-1] = messages[-1][: max(8, len(messages[-1]) - cut)]
    whole = all(len(row) == width and UNCHANGED not in row for row in rows) and messages[-1].endswith(
        row_bytes(rows[-1])
    )

    made = rows_of_tuples(messages, 6, width)

    assert (None if made is None else list(made)) == (rows if whole else None)


def test_an_lsn_is_written_as_postgresql_does():
    """PGC-01."""
    assert lsn_text(0x16_0B37_4848) == "16/B374848"
