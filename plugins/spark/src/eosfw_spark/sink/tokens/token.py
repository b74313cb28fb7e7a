"""The token of a query's last published batch, and what it says about the next one (Delta's `SetTransaction`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from eosfw.errors import DamagedDataError

KEPT: Final = 16
"""How many earlier batches a token still knows: a second driver that slept so long finds its batch there."""
_KEPT_TOPICS: Final = 64
"""How many topics a token knows, for rows that name their topics themselves."""
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class BatchContent:
    """What one batch publishes: a batch has the same content as often as it runs, if its query is deterministic."""

    hash: str
    """Of all rows, in any order."""
    rows: int


@dataclass(frozen=True, slots=True)
class Token:
    """The last batch that a query published; it commits in the transaction of that batch's rows."""

    batch: int
    content: BatchContent
    earlier: Mapping[int, str] = field(default_factory=dict)
    """The content hashes of the batches before it."""
    checkpoint: str = ""
    """Where the query's checkpoint was; empty if that is not known."""
    writers: int = 1
    """How many tokens each batch has, one for each writer."""
    topics: Mapping[str, str] = field(default_factory=dict)
    """The ids of the topics that were written to: one that is deleted and created again has another id."""
    planned: str = ""
    """The batch's entry in Spark's offset log (`staging.offset_log_entry`); empty if that is not known."""
    log_partitions: int = field(default=0, compare=False)
    """How many partitions the topic of tokens had when this one was written; 0 of an older version's tokens."""

    def followed_by(self, batch: int, content: BatchContent, checkpoint: str = "", planned: str = "") -> Token:
        """The token of the next batch."""
        known = {**self.earlier, self.batch: self.content.hash}
        earlier = {each: known[each] for each in sorted(known)[-KEPT:]}
        return Token(batch, content, earlier, checkpoint, topics=self.topics, planned=planned)

    def to_topics(self, ids: Mapping[str, str]) -> Token:
        """The same for rows in topics with these ids, too; of all of them those that were met last are kept."""
        last = {**{name: each for name, each in self.topics.items() if name not in ids}, **ids}
        return replace(self, topics=dict(list(last.items())[-_KEPT_TOPICS:]))

    def hash_of(self, batch: int) -> str | None:
        """The content hash of a batch that was published; None if it is older than what the token knows."""
        return self.content.hash if batch == self.batch else self.earlier.get(batch)


class Verdict(Enum):
    """What to do with a batch."""

    PUBLISH = "publish"
    SKIP = "skip"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class TokenDecision:
    """A verdict; `reason` is one sentence where a user should hear of it, else empty."""

    verdict: Verdict
    reason: str = ""


def refuse(reason: str) -> TokenDecision:
    """A refusal."""
    return TokenDecision(Verdict.REFUSE, reason)


def decide(
    query: str,
    last: Token | None,
    batch: int,
    content: BatchContent,
    *,
    first: int | None = None,
    checkpoint: str = "",
    planned: str = "",
) -> TokenDecision:
    """Whether a batch is published, was published already, or belongs to another history of the query.

    `first` is the batch at which a query may begin that has no token yet; otherwise it begins at batch 0.
    """
    comes = f"query {query} comes with batch {batch}"
    if last is None:
        if batch in (0, first):
            return TokenDecision(Verdict.PUBLISH)
        return refuse(
            f"{comes}, but has no token of batch {batch - 1}: its checkpoint was made with another sink or cluster, or "
            f"the tokens were deleted, so nobody knows whether batch {batch} was published; if it was not, set the "
            f"option startingBatchId to {batch}, else start with a new checkpoint"
        )
    if batch == last.batch + 1:
        return TokenDecision(Verdict.PUBLISH)
    if batch > last.batch:
        return refuse(
            f"{comes}, but the last batch that it published is {last.batch}: the batches between were never published, "
            f"so the checkpoint is not the one that wrote batch {last.batch}; restore that checkpoint, or start with a "
            f"new one"
        )
    return _decide_replay(query, last, batch, content, checkpoint, planned)


def _decide_replay(
    query: str, last: Token, batch: int, content: BatchContent, checkpoint: str, planned: str
) -> TokenDecision:
    if last.hash_of(batch) == content.hash:
        return TokenDecision(Verdict.SKIP)
    if batch < last.batch:
        known = last.hash_of(batch)
        published = "is older than what its token remembers" if known is None else f"was published with content {known}"
        return refuse(
            f"query {query} comes with batch {batch} of content {content.hash}, but that batch {published}, and the "
            f"last published batch is {last.batch}: the checkpoint is an older copy, or two queries use copies of one "
            f"checkpoint; restore the newest checkpoint, or start with a new one"
        )
    if last.checkpoint and checkpoint and last.checkpoint != checkpoint:
        return refuse(
            f"query {query} comes with batch {batch} of content {content.hash} from checkpoint {checkpoint}, but that "
            f"batch was published with content {last.content.hash} from checkpoint {last.checkpoint}: two queries use "
            f"copies of one checkpoint; give each query a checkpoint of its own"
        )
    if last.planned and planned and last.planned != planned:
        # No replay: were it skipped, the rows of what it reads beyond the published batch would be lost.
        return refuse(
            f"query {query} comes with batch {batch} of {content.rows} rows, but that batch was published with "
            f"{last.content.rows} rows, and by another plan of what it reads: the checkpoint is an older copy; restore "
            f"the newest checkpoint, or start with a new one"
        )
    why = "" if last.planned and planned else ", or its checkpoint is an older copy"
    return TokenDecision(
        Verdict.SKIP,
        f"query {query} is not deterministic{why}: batch {batch} was published with content {last.content.hash} "
        f"({last.content.rows} rows), and its replay has content {content.hash} ({content.rows} rows); it stays as it "
        f"was published, nothing was published twice",
    )


def decide_write(application: str, last: Token | None, version: int, content: BatchContent) -> TokenDecision:
    """Whether a batch write is published: versions grow, by any step (Delta's `txnVersion`).

    Delta drops a version that is not higher, whatever its rows; here only one whose rows were written is skipped.
    """
    if last is None or version > last.batch:
        return TokenDecision(Verdict.PUBLISH)
    known = last.hash_of(version)
    if known == content.hash:
        return TokenDecision(Verdict.SKIP)
    written = "is not known to be written" if known is None else f"was written with content {known}"
    if version == last.batch:
        written = f"{written} ({last.content.rows} rows): if it is the same job, it has written its rows"
    else:
        written = f"{written}, and the last written version is {last.batch}"
    return refuse(
        f"version {version} of application {application} comes with content {content.hash} ({content.rows} rows), "
        f"but that version {written}; nothing is written now; give new rows a txnVersion above {last.batch}, or a "
        f"txnAppId of their own"
    )


def encode(token: Token) -> bytes:
    """The value of a token's record."""
    fields = {
        "version": _VERSION,
        "batch": token.batch,
        "hash": token.content.hash,
        "rows": token.content.rows,
        "earlier": {str(batch): each for batch, each in token.earlier.items()},
        "checkpoint": token.checkpoint,
        "writers": token.writers,
        "topics": dict(token.topics),
        "planned": token.planned,
        "partitions": token.log_partitions,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def decode(value: bytes) -> Token:
    """The token of a record's value; DamagedDataError if it is none, because starting over would duplicate."""
    try:
        fields = json.loads(value)
        if fields["version"] != _VERSION:
            raise DamagedDataError(f"a token has version {fields['version']!r}; this eosfw-spark knows {_VERSION}")
        earlier = {int(batch): str(each) for batch, each in fields["earlier"].items()}
        content = BatchContent(str(fields["hash"]), int(fields["rows"]))
        topics = {str(name): str(each) for name, each in fields.get("topics", {}).items()}
        batch, writers, among = int(fields["batch"]), int(fields["writers"]), int(fields.get("partitions", 0))
        planned = str(fields.get("planned", ""))
        return Token(batch, content, earlier, str(fields["checkpoint"]), writers, topics, planned, among)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as why:
        raise DamagedDataError(f"a token is malformed: {value[:200]!r}") from why
