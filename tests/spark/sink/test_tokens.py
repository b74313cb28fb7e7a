"""What the token of the last published batch decides about the next batch (SPK-01, SPK-06)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import DamagedDataError
from eosfw_spark.sink.tokens.token import (
    KEPT,
    BatchContent,
    Token,
    TokenDecision,
    Verdict,
    decide,
    decide_write,
    decode,
    encode,
)

QUERY = "a0b1"
contents = st.builds(BatchContent, st.text("0123456789abcdef", min_size=16, max_size=16), st.integers(0, 10**9))


def content(batch: int, run: int = 0) -> BatchContent:
    return BatchContent(f"{run}-{batch}", 10)


def after(batch: int) -> Token:
    """The token of a query that published batches 0 to `batch`."""
    token = Token(0, content(0))
    for each in range(1, batch + 1):
        token = token.followed_by(each, content(each))
    return token


@pytest.mark.parametrize("batch", [3, 4])
def test_published_batch_is_skipped_without_a_word(batch: int) -> None:
    decision = decide(QUERY, after(4), batch, content(batch))

    assert (decision.verdict, decision.reason) == (Verdict.SKIP, "")


def test_other_content_from_a_copied_checkpoint_is_refused() -> None:
    """Two queries with one id: the second one's rows would be lost, were this taken for a replay."""
    last = after(3).followed_by(4, content(4), "/one")

    decision = decide(QUERY, last, 4, content(4, run=1), checkpoint="/two")

    assert decision.verdict is Verdict.REFUSE
    for named in (QUERY, "batch 4", "0-4", "1-4", "/one", "/two"):
        assert named in decision.reason
    assert decide(QUERY, last, 4, content(4), checkpoint="/two").verdict is Verdict.SKIP


def test_other_rows_by_another_plan_are_refused() -> None:
    """SPK-06: an older copy of the checkpoint plans its next batch anew, with what has come since then in it."""
    last = after(3).followed_by(4, content(4), "/here", "plan")

    decision = decide(QUERY, last, 4, BatchContent("more", 13), checkpoint="/here", planned="other plan")

    assert decision.verdict is Verdict.REFUSE
    for named in (QUERY, "batch 4 of 13 rows", "published with 10 rows", "the checkpoint is an older copy"):
        assert named in decision.reason
    for same in ("plan", ""):  # a query that is not deterministic; nobody knows
        assert decide(QUERY, last, 4, content(4, run=1), checkpoint="/here", planned=same).verdict is Verdict.SKIP
    assert decide(QUERY, last, 4, content(4), checkpoint="/here", planned="other plan").verdict is Verdict.SKIP


REFUSED = [
    (after(5), 7, content(7), ("batch 7", "published is 5")),
    (after(4), 3, content(3, run=1), ("batch 3", "1-3", "0-3", "batch is 4")),
    (after(KEPT + 5), 2, content(2), ("batch 2", "older than what its token remembers")),
    (None, 5, content(5), ("batch 5", "startingBatchId to 5")),
]


@pytest.mark.parametrize(("last", "batch", "given_", "named"), REFUSED, ids=["gap", "copy", "old", "no token"])
def test_batch_of_another_history_is_refused_with_the_query_id(
    last: Token | None, batch: int, given_: BatchContent, named: tuple[str, ...]
) -> None:
    """Hostile input 41: a gap, older copies of a checkpoint, a checkpoint of another sink."""
    decision = decide(QUERY, last, batch, given_)

    assert decision.verdict is Verdict.REFUSE
    assert all(each in decision.reason for each in (QUERY, *named))


def test_replay_with_other_content_is_skipped_with_a_warning() -> None:
    """Hostile input 41: a query that is not deterministic, such as one with rand()."""
    query = decide(QUERY, after(4), 4, BatchContent("other", 11))

    assert query.verdict is Verdict.SKIP
    assert all(each in query.reason for each in (QUERY, "batch 4", "0-4 (10 rows)", "other (11 rows)"))


def test_query_without_token_begins_where_the_user_says() -> None:
    assert decide(QUERY, None, 5, content(5), first=5).verdict is Verdict.PUBLISH
    assert decide(QUERY, None, 6, content(6), first=5).verdict is Verdict.REFUSE
    assert decide(QUERY, after(5), 5, content(5), first=5).verdict is Verdict.SKIP


@given(
    st.builds(
        Token,
        st.integers(0, 10**6),
        contents,
        st.dictionaries(st.integers(0, 10**6), st.text()),
        checkpoint=st.text(),
        planned=st.text(),
    )
)
def test_encoded_token_is_the_same_when_decoded(token: Token) -> None:

    assert decode(encode(token)) == token


@pytest.mark.parametrize("value", [b"", b"null", b"[]", b"{}", b'{"version":1}', b"\xff", b"[" * 100_000])
def test_malformed_token_is_refused(value: bytes) -> None:
    with pytest.raises(DamagedDataError):
        decode(value)


def test_token_of_a_newer_version_is_refused() -> None:
    with pytest.raises(DamagedDataError, match="version 2"):
        decode(encode(after(1)).replace(b'"version":1', b'"version":2'))


@given(st.lists(st.sampled_from(["run", "crash after publish", "crash before publish", "sleeper"]), max_size=60))
def test_every_batch_is_published_once_whatever_is_repeated(events: list[str]) -> None:
    """Spark commits its log after the sink, so a crash repeats a batch; a second driver repeats older ones."""
    published: list[int] = []
    token: Token | None = None
    spark = 0
    for event in events:
        batch = max(0, spark - 2) if event == "sleeper" else spark
        verdict = decide(QUERY, token, batch, content(batch)).verdict
        assert verdict is not Verdict.REFUSE
        if verdict is Verdict.PUBLISH and event != "crash before publish":
            published.append(batch)
            token = Token(batch, content(batch)) if token is None else token.followed_by(batch, content(batch))
        if event == "run":
            spark += 1

    assert published == sorted(set(published))
    assert set(range(spark)) <= set(published)


@given(last=st.integers(0, 40), batch=st.integers(0, 60), run=st.integers(0, 1))
def test_only_the_next_batch_is_ever_published(last: int, batch: int, run: int) -> None:
    verdict = decide(QUERY, after(last), batch, content(batch, run)).verdict

    assert (verdict is Verdict.PUBLISH) == (batch == last + 1)
    if verdict is Verdict.SKIP:
        assert batch <= last


def test_batch_write_is_published_once_for_each_version() -> None:
    """SPK-08."""
    one, other = BatchContent("a", 1), BatchContent("b", 1)

    assert decide_write("nightly", None, 7, one).verdict is Verdict.PUBLISH
    assert decide_write("nightly", Token(7, one), 9, one).verdict is Verdict.PUBLISH
    assert decide_write("nightly", Token(7, one), 7, one) == TokenDecision(Verdict.SKIP)
    assert decide_write("nightly", Token(7, one).followed_by(9, other), 7, one) == TokenDecision(Verdict.SKIP)


@pytest.mark.parametrize(
    ("version", "known"),
    [
        (6, "is not known to be written"),
        (7, "was written with content a"),
        (9, "was written with content b (1 rows): if it is the same job, it has written its rows"),
    ],
)
def test_version_with_rows_that_were_not_written_is_refused(version: int, known: str) -> None:
    """SPK-08: were it skipped, as the job of a day that forgets to raise it, its rows would be missing unseen."""
    last = Token(7, BatchContent("a", 1)).followed_by(9, BatchContent("b", 1))

    decision = decide_write("nightly", last, version, BatchContent("c", 2))

    assert decision.verdict is Verdict.REFUSE
    for named in (f"version {version} of application nightly", "c (2 rows)", known, "txnVersion above 9"):
        assert named in decision.reason
