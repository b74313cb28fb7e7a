"""A query, or a batch write, that changes its mode is refused where nobody can tell what it published (S1)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from eosfw.errors import DamagedDataError
from eosfw_spark.sink.committer import AtomicCommitter, CommitBatch
from eosfw_spark.sink.rows import producer_batches
from eosfw_spark.sink.tokens.partition_token import WriterBatch
from eosfw_spark.sink.tokens.token import BatchContent, TokenDecision, Verdict, decide
from eosfw_spark.sink.tokens.token_producer import TokenIdentity

from .test_partition_writer import Query, all_values, query, rows_of

__all__ = ["query"]


def whole_batch(query: Query, number: int) -> None:
    """Publish a batch of the query in mode `atomic`, if its token allows that."""
    content = BatchContent("whole", 3)
    batch = CommitBatch(
        number, content, frozenset(), lambda: (), lambda last: decide(query.name, last, number, content)
    )
    with closing(AtomicCommitter(TokenIdentity.of_query(query.name), query.cluster(), query.lab.runtime)) as driver:
        driver.commit(batch, query.announce)


def write_whole(query: Query, part: WriterBatch, *, anew: bool = False) -> None:
    """Publish in mode `atomic` the rows of what is one part of a batch in the other mode."""
    of = TokenIdentity.of_query if part.is_query else TokenIdentity.of_write
    batch = CommitBatch(
        part.batch,
        BatchContent("whole", 3),
        frozenset([query.topic]),
        lambda: (each for rows in rows_of(part) for each in producer_batches(rows, query.topic, 0)),
        lambda _: TokenDecision(Verdict.PUBLISH),
        anew=anew,
    )
    with closing(AtomicCommitter(of(query.name), query.cluster(), query.lab.runtime)) as driver:
        driver.commit(batch, query.announce)


@pytest.fixture(params=[True, False], ids=["query", "batch write"])
def part(request: pytest.FixtureRequest, query: Query) -> WriterBatch:
    """One partition of the first batch; the other ones were not published."""
    return WriterBatch(query.name, 0, 1, 2, is_query=request.param)


def test_a_batch_that_was_begun_in_parallel_is_not_published_as_a_whole(query: Query, part: WriterBatch) -> None:
    query.attempt(part)

    with pytest.raises(DamagedDataError, match=f"{query.name} was written in the other mode.*option mode"):
        write_whole(query, part)

    assert query.published() == all_values(part)


def test_a_batch_that_was_published_as_a_whole_is_not_begun_in_parallel(query: Query, part: WriterBatch) -> None:
    write_whole(query, part)

    with pytest.raises(DamagedDataError, match=f"{query.name} was written in the other mode.*option mode"):
        query.attempt(part)

    assert query.published() == all_values(part)


def test_a_batch_that_published_nothing_may_change_its_mode(query: Query, part: WriterBatch) -> None:
    def broken() -> None:
        raise DamagedDataError("a row has no topic")

    with pytest.raises(DamagedDataError, match="a row has no topic"):
        query.attempt(part, rows=(broken() for _ in range(1)))  # type: ignore[misc]

    write_whole(query, part)

    assert query.published() == all_values(part)


def test_the_user_may_say_that_nothing_was_published(query: Query) -> None:
    """The option startingBatchId."""
    query.attempt(query.part(0))
    write_whole(query, query.part(1), anew=True)
    query.attempt(replace(query.part(2, 1), first=2))

    assert query.published() == all_values(query.part(0), query.part(1), query.part(2, 1))


def test_the_user_may_not_say_so_of_what_was_published_as_a_whole(query: Query) -> None:
    """SPK-06: a query that was stopped behind the commit of its last batch, before Spark had noted it."""
    write_whole(query, query.part(0))
    write_whole(query, query.part(1))

    with pytest.raises(DamagedDataError, match=r"other mode up to batch 1, so batch 1 was published.*startingBatchId"):
        query.attempt(replace(query.part(1), first=1))

    assert query.published() == all_values(query.part(0), query.part(1))


def test_the_user_may_not_say_so_of_what_was_published_in_parallel(query: Query) -> None:
    """SPK-06: the query died when one of its partitions had published."""
    published = [query.part(0, 0), query.part(0, 1), query.part(1, 1)]
    for part in published:
        query.attempt(part)

    with pytest.raises(DamagedDataError, match=r"other mode up to batch 1, so batch 1 was published.*startingBatchId"):
        write_whole(query, query.part(1), anew=True)

    assert query.published() == all_values(*published)


def test_a_batch_begun_in_parallel_since_the_last_whole_one_is_not_published_as_a_whole(query: Query) -> None:
    """The query went over by startingBatchId, met a failure in the middle of its first batch, and went back."""
    write_whole(query, query.part(0))
    query.attempt(replace(query.part(1), first=1))

    with pytest.raises(DamagedDataError, match=f"{query.name} was written in the other mode.*option mode"):
        write_whole(query, query.part(1))

    assert query.published() == all_values(query.part(0), query.part(1))


def test_a_whole_batch_since_the_last_one_in_parallel_is_not_begun_in_parallel(query: Query) -> None:
    """The same way back, where Spark had not committed the batch."""
    query.attempt(query.part(0))
    write_whole(query, query.part(1), anew=True)

    with pytest.raises(DamagedDataError, match=f"{query.name} was written in the other mode.*option mode"):
        query.attempt(query.part(1))

    assert query.published() == all_values(query.part(0), query.part(1))


def test_the_other_mode_is_named_where_batches_are_missing(query: Query) -> None:
    """SPK-06: the mode was changed between two batches, of which Spark has committed the first, and changed back."""
    query.attempt(query.part(0))
    with pytest.raises(DamagedDataError, match=r"in the other mode up to batch 0.*until the query is beyond batch 0"):
        whole_batch(query, 1)

    write_whole(query, query.part(1), anew=True)
    with pytest.raises(DamagedDataError, match=r"in the other mode up to batch 1.*set the option mode as it was;"):
        query.attempt(query.part(2))

    assert query.published() == all_values(query.part(0), query.part(1))


def test_a_query_goes_on_in_the_mode_that_it_went_over_to(query: Query) -> None:
    """Also with more writers, of which the new ones have no token."""
    write_whole(query, query.part(0))
    parallel = [replace(query.part(batch, partition), first=1) for batch in (1, 2) for partition in (0, 1)]
    for part in parallel:
        query.attempt(part)

    grown = [replace(query.part(3, partition), first=1, writers=3) for partition in range(3)]
    for part in grown:
        query.attempt(part)

    assert query.published() == all_values(query.part(0), *parallel, *grown)
