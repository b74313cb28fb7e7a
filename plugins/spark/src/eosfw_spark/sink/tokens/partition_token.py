"""What the tokens of a query say about one partition of a batch that is published by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from eosfw_spark.sink.tokens.token import BatchContent, Token, TokenDecision, Verdict, decide, decide_write, refuse
from eosfw_spark.sink.tokens.token_producer import TokenIdentity


@dataclass(frozen=True, slots=True)
class WriterBatch:
    """One partition of one batch, which one writer publishes."""

    query: str
    batch: int
    partition: int
    writers: int
    """How many writers each batch has; one that the batch has no partition for publishes a token without rows."""
    first: int | None = None
    """The batch at which a query may begin that has no token yet; otherwise it begins at batch 0."""
    checkpoint: str = ""
    is_query: bool = True
    """False for a batch write: its versions may leave out numbers."""

    def identity(self, partition: int) -> TokenIdentity:
        """Who publishes a partition of this batch."""
        of = TokenIdentity.of_partition if self.is_query else TokenIdentity.of_write_partition
        return of(self.query, partition)

    def joins(self, last: Token | None) -> bool:
        """Whether this writer has no token although the query did not begin with this batch."""
        return self.is_query and last is None and self.partition > 0 and self.batch not in (0, self.first)

    def follows(self, last: Token | None) -> bool:
        """Whether this batch comes right behind the token's: so nothing was published between the two."""
        return self.is_query and last is not None and last.batch == self.batch - 1 and last.writers <= self.writers

    def is_behind(self, token: Token | None) -> bool:
        """Whether a token of this batch, or one before it, is of a time when there were fewer writers."""
        return token is not None and token.writers < self.writers and token.batch <= self.batch

    def token(self, last: Token | None, content: BatchContent) -> Token:
        """The token that commits with the rows."""
        if last is None:
            return Token(self.batch, content, checkpoint=self.checkpoint, writers=self.writers)
        return replace(last.followed_by(self.batch, content, self.checkpoint), writers=self.writers)


def decide_partition(
    part: WriterBatch, last: Token | None, other: Token | None, content: BatchContent, mark: Token | None = None
) -> TokenDecision:
    """Whether a partition of a batch is published, was published already, or does not fit what was.

    `last` is the writer's own token. `other` is that of the first writer, which each batch has, for one that joins.
    `mark` is what a writer leaves with the first batch that it publishes among so many.
    """
    known = max((each for each in (last, other, mark) if each is not None), key=lambda one: one.writers, default=None)
    if known is not None and known.writers > part.writers:
        return refuse(
            f"query {part.query} has {known.writers} writers since batch {known.batch}, and the option writers is now "
            f"{part.writers}: set it to {known.writers} again; a batch may have fewer partitions than writers"
        )
    if not part.is_query:
        return _decide_write(part, last, content)
    if last is None and other is not None:
        return _joined(part, other)
    decision = decide(part.query, last, part.batch, content, first=part.first, checkpoint=part.checkpoint)
    return _exactly(part, last, content, decision)


def _decide_write(part: WriterBatch, last: Token | None, content: BatchContent) -> TokenDecision:
    decision = decide_write(part.query, last, part.batch, content)
    if decision.verdict is not Verdict.REFUSE or last is None or last.batch != part.batch:
        return decision
    return refuse(
        f"partition {part.partition} of version {part.batch} of application {part.query} was written with content "
        f"{last.content.hash} ({last.content.rows} rows), and now comes with content {content.hash} ({content.rows} "
        f"rows): it stays as it was written; run the same job again with the same partitions as before, as "
        f"df.repartition({last.writers}) keeps them, or give new rows a higher txnVersion"
    )


def _exactly(part: WriterBatch, last: Token | None, content: BatchContent, decision: TokenDecision) -> TokenDecision:
    """A partition with other rows is refused: the rows that it had before may now be in others."""
    if decision.verdict is Verdict.SKIP and decision.reason and last is not None:
        return refuse(
            f"query {part.query} is not deterministic, or its checkpoint is an older copy: partition {part.partition} "
            f"of batch {last.batch} was published with content {last.content.hash} ({last.content.rows} rows), and its "
            f"replay has content {content.hash} ({content.rows} rows), so rows may have moved between partitions; it "
            f"stays as it was published; run the query again with the newest checkpoint, and with the same partitions "
            f"as before, as df.repartition({last.writers}) keeps them"
        )
    return decision


def _joined(part: WriterBatch, other: Token) -> TokenDecision:
    """A writer without a token, while the first writer has one: the query has more writers than before."""
    if other.batch == part.batch:
        return TokenDecision(Verdict.PUBLISH)
    if other.batch == part.batch - 1 and other.writers <= part.partition:
        return TokenDecision(Verdict.PUBLISH)
    return refuse(
        f"query {part.query} comes with batch {part.batch}, but partition {part.partition} has no token, while the "
        f"last batch of partition 0 is {other.batch}: tokens were deleted, or the checkpoint is another one, so nobody "
        f"knows what of batch {part.batch} was published; start with a new checkpoint"
    )


def not_compared(part: WriterBatch, other: int, writers: int) -> str:
    """The message about a batch that some of fewer writers have published, while nobody knows how it is divided now."""
    return (
        f"batch {part.batch} of query {part.query} was begun with {writers} writers, and partition {other} has not "
        f"compared its rows with those that it published: give Spark a core for each partition, so that they run at "
        f"the same time, or set the option writers to {writers} again"
    )


def too_many_partitions(query: str, batch: int, partition: int, writers: int) -> str:
    """The message about a partition that no writer is for."""
    return (
        f"partition {partition} of batch {batch} of query {query} has no writer, because the option writers is "
        f"{writers}: set it to the number of partitions of the DataFrame, then the batch continues where it is; "
        f"to keep {writers}, start with a new checkpoint and df.repartition({writers}) or df.coalesce({writers})"
    )
