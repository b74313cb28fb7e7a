"""Tokens are found whatever else is in their topic, on every backend (SPK-05)."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from eosfw.errors import ConfigError, DamagedDataError, ReadStalledError
from eosfw.protocols import IsolationLevel, NewTopic
from eosfw.records import ProducerBatch
from eosfw_spark.sink.tokens import token_log
from eosfw_spark.sink.tokens.token import BatchContent, Token
from eosfw_spark.sink.tokens.token_log import TokenLog
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness

FIRST = Token(0, BatchContent("a", 1))
SECOND = FIRST.followed_by(1, BatchContent("b", 2))


@pytest.fixture
def log(lab: BackendHarness) -> TokenLog:
    return TokenLog(lab.backend, lab.name(), stall_timeout=WAIT)


def write(lab: BackendHarness, *records: ProducerBatch, commit: bool = True) -> None:
    producer = lab.producer()
    producer.begin_transaction()
    for record in records:
        producer.send_batch(record)
    (producer.commit_transaction if commit else producer.abort_transaction)(WAIT)


def test_last_committed_token_of_a_key_is_read(lab: BackendHarness, log: TokenLog) -> None:
    assert log.read("query") is None

    write(lab, log.record("query", FIRST), log.record("other", SECOND))
    write(lab, log.record("query", SECOND), commit=False)
    assert log.read("query") == FIRST

    write(lab, log.record("query", SECOND))
    assert log.read("query") == SECOND


def test_missing_topic_is_created_compacted(lab: BackendHarness, log: TokenLog) -> None:
    log.ensure()

    assert lab.admin.partitions([log.topic]) == {log.topic: token_log.PARTITIONS}
    assert lab.admin.topic_config(log.topic)["cleanup.policy"] == "compact"


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_topic_that_would_lose_tokens_is_refused(lab: BackendHarness, log: TokenLog, policy: str) -> None:
    lab.admin.create_topics([NewTopic(log.topic, config={"cleanup.policy": policy})])

    with pytest.raises(ConfigError, match=f"{log.topic} has cleanup.policy={policy}"):
        log.read("query")


def test_token_among_many_others_is_found(lab: BackendHarness, log: TokenLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The read goes back from the end in growing windows."""
    monkeypatch.setattr(token_log, "_WINDOW", 2)
    lab.admin.create_topics([NewTopic(log.topic, 1, config={"cleanup.policy": "compact"})])
    write(lab, log.record("query", SECOND))
    for number in range(5):
        write(lab, *(log.record(f"other-{number}-{each}", FIRST) for each in range(5)))

    assert log.read("query") == SECOND
    assert log.read("nobody") is None


def test_token_behind_an_open_transaction_is_waited_for(lab: BackendHarness, log: TokenLog) -> None:
    """Up to the last stable offset alone, the token would be missed, and its batch published again."""
    lab.admin.create_topics([NewTopic(log.topic, 1, config={"cleanup.policy": "compact"})])
    blocker = lab.producer("blocker-" + log.topic)
    blocker.begin_transaction()
    blocker.send_batch(log.record("other", FIRST))
    blocker.flush(WAIT)
    write(lab, log.record("query", SECOND))
    log.stall_timeout = 0.5

    with pytest.raises(ReadStalledError, match="txn"):
        log.read("query")

    blocker.commit_transaction(WAIT)
    log.stall_timeout = WAIT
    assert log.read("query") == SECOND


def test_malformed_token_names_topic_and_key(lab: BackendHarness, log: TokenLog) -> None:
    record = log.record("query", FIRST)
    write(lab, ProducerBatch(log.topic, [b"{}"], record.keys, record.partition))

    with pytest.raises(DamagedDataError, match=f"topic {log.topic}, key query"):
        log.read("query")


def test_deleted_token_is_no_token(lab: BackendHarness, log: TokenLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_log, "_WINDOW", 2)
    record = log.record("query", FIRST)
    write(lab, record)
    write(lab, ProducerBatch(log.topic, [None], record.keys, record.partition))

    assert log.read("query") is None
    assert lab.end(log.topic, IsolationLevel.READ_COMMITTED, record.partition or 0) > 0


def test_token_is_found_however_often_its_topic_was_given_partitions(
    lab: BackendHarness, log: TokenLog, embedded: str
) -> None:
    """Its key belongs elsewhere each time; were it missed, its batch would be published again.

    This key belongs to partition 23, 21, 26, then again to 21 and 23, where older tokens of it are.
    """
    admin, token, key = AdminClient({"bootstrap.servers": embedded}), FIRST, "query-154"
    write(lab, log.record(key, token))
    for number in range(1, 6):
        count = token_log.PARTITIONS + number
        admin.create_partitions([NewPartitions(log.topic, count)])[log.topic].result(WAIT)
        lab.until(lab.admin.partitions, lambda found, count=count: found[log.topic] == count)

        # A process that kept its own, and one that starts.
        assert log.read(key) == TokenLog(lab.backend, log.topic).read(key) == token
        token = token.followed_by(number, BatchContent(str(number), 1))
        write(lab, log.record(key, token))
        assert TokenLog(lab.backend, log.topic).read(key) == token
    assert log.read("nobody") is None


def test_token_of_an_older_version_is_the_last_one(lab: BackendHarness, log: TokenLog) -> None:
    """It does not say how many partitions there were."""
    record = log.record("query", SECOND)
    older = (record.values[0] or b"").replace(b',"partitions":25', b"")
    write(lab, ProducerBatch(log.topic, [older], record.keys, record.partition))

    assert b"partitions" not in older
    assert log.read("query") == SECOND
