"""What the tokens of a query say about one partition of a batch (SPK-09)."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from eosfw_spark.sink.tokens.partition_token import WriterBatch, decide_partition
from eosfw_spark.sink.tokens.token import BatchContent, Token, Verdict
from eosfw_spark.sink.tokens.token_producer import TokenIdentity

CONTENT, OTHER = BatchContent("a", 2), BatchContent("b", 3)
PART = WriterBatch("q", 5, 1, 2)


def token(batch: int, content: BatchContent = CONTENT, writers: int = 2) -> Token:
    return Token(batch, content, {batch - 1: "z"}, writers=writers)


def verdict(
    part: WriterBatch, last: Token | None, other: Token | None = None, content: BatchContent = CONTENT
) -> Verdict:
    return decide_partition(part, last, other, content).verdict


def reason(part: WriterBatch, last: Token | None, other: Token | None = None, content: BatchContent = CONTENT) -> str:
    found = decide_partition(part, last, other, content)
    assert found.verdict is Verdict.REFUSE
    return found.reason


def test_a_zombie_of_an_earlier_batch_is_skipped() -> None:
    assert verdict(PART, token(5).followed_by(6, OTHER)) is Verdict.SKIP


def test_a_query_begins_with_batch_0_or_the_batch_that_it_is_told() -> None:
    assert verdict(replace(PART, batch=0), None) is Verdict.PUBLISH
    assert verdict(replace(PART, first=5), None) is Verdict.PUBLISH
    assert "startingBatchId" in reason(PART, None)


def test_only_a_writer_that_joins_asks_for_the_first_ones_token() -> None:
    assert PART.joins(None)
    assert not PART.joins(token(4))
    assert not any(
        each.joins(None) for each in (replace(PART, batch=0), replace(PART, first=5), replace(PART, partition=0))
    )


def test_a_further_writer_joins_a_query() -> None:
    wider = replace(PART, partition=2, writers=4)

    assert verdict(wider, None, token(4)) is Verdict.PUBLISH
    assert verdict(wider, None, token(5, writers=4)) is Verdict.PUBLISH


def test_a_writer_whose_token_is_gone_is_refused() -> None:
    assert "partition 1 has no token" in reason(PART, None, token(4))
    assert "partition 1 has no token" in reason(PART, None, token(6))


@pytest.mark.parametrize(("last", "other"), [(token(4, writers=3), None), (None, token(5, writers=3))])
def test_fewer_writers_than_before_are_refused_with_the_remedy(last: Token | None, other: Token | None) -> None:
    assert "the option writers is now 2: set it to 3 again" in reason(PART, last, other)


def test_versions_of_a_batch_write_may_leave_out_numbers() -> None:
    write = replace(PART, is_query=False)

    assert verdict(write, None) is Verdict.PUBLISH
    assert verdict(write, token(2)) is Verdict.PUBLISH
    assert verdict(write, token(5)) is Verdict.SKIP
    assert verdict(write, token(5).followed_by(6, OTHER)) is Verdict.SKIP
    assert "the last written version is 6" in reason(write, token(6))
    assert "content b" in reason(write, token(5), content=OTHER)


def test_tokens_keep_the_number_of_writers() -> None:
    assert PART.token(None, CONTENT) == Token(5, CONTENT, writers=2)
    assert replace(PART, writers=3).token(token(4), OTHER).writers == 3


def test_identities_of_queries_and_batch_writes_never_meet() -> None:
    query, names = str(uuid.UUID(int=1)), ("a", "a-1", "1-a", "write-a", "parts-write-a", "0-write-a")
    identities = [
        TokenIdentity.of_query(query),
        *(TokenIdentity.of_partition(query, at) for at in (0, 1)),
        *map(TokenIdentity.of_write, names),
        *(TokenIdentity.of_write_partition(name, at) for name in names for at in (0, 1)),
    ]
    marks = {each.mark for each in identities} - {""}

    assert len({each.key for each in identities} | marks) == len(identities) + len(marks)
    assert len({each.transactional_id for each in identities}) == len(identities)
