"""Kafka's console clients pass records to each other through the embedded broker."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

WAIT = 30.0
LINES = [f"line {number}" for number in range(100)]


@pytest.fixture
def filled(tool, topic):
    """A topic that the console producer wrote."""
    name = topic()
    tool("kafka-console-producer", "--topic", name, stdin="\n".join(LINES) + "\n")
    return name


def test_lines_written_on_one_console_are_read_on_another(tool, filled):
    """Without a group, from the beginning."""
    read = tool(
        "kafka-console-consumer", "--topic", filled, "--partition", 0, "--from-beginning", "--max-messages", len(LINES)
    )

    assert read.lines == LINES


def test_a_group_resumes_at_its_committed_offsets(tool, filled, fresh):
    """GRP: offsets committed by one member are found by the next."""
    member = ("--topic", filled, "--group", fresh("group"), "--from-beginning")

    first = tool("kafka-console-consumer", *member, "--max-messages", 40)
    second = tool("kafka-console-consumer", *member, "--max-messages", 60)

    assert first.lines + second.lines == LINES


def test_a_console_at_read_committed_shows_no_aborted_line(tool, topic, embedded, fresh):
    """CON-01, by the Java consumer: committed, aborted, committed; open at the end."""
    name = topic()
    producer = Producer({"bootstrap.servers": embedded, "transactional.id": fresh("id")})
    producer.init_transactions(WAIT)
    for number, end in enumerate((producer.commit_transaction, producer.abort_transaction) * 2):
        producer.begin_transaction()
        producer.produce(name, b"transaction %d" % number, partition=0)
        producer.flush(WAIT)
        end(WAIT)
    producer.begin_transaction()
    producer.produce(name, b"open", partition=0)
    producer.flush(WAIT)

    def read(level, count):
        wanted = ("--isolation-level", level, "--max-messages", count, "--timeout-ms", 30_000)
        output = tool("kafka-console-consumer", "--topic", name, "--group", fresh("group"), "--from-beginning", *wanted)
        return output.lines

    committed, everything = read("read_committed", 2), read("read_uncommitted", 5)
    producer.abort_transaction(WAIT)

    assert committed == ["transaction 0", "transaction 2"]
    assert everything == [*(f"transaction {number}" for number in range(4)), "open"]


def test_keys_headers_timestamps_arrive_as_written(tool, topic):
    """The whole record, as Java writes it."""
    name = topic()
    shape = ("parse.key=true", "parse.headers=true", "headers.delimiter=|", "key.separator==")
    tool(
        "kafka-console-producer",
        "--topic",
        name,
        *(word for one in shape for word in ("--property", one)),
        stdin="from:console|key=value\n",
    )

    shown = ("print.key=true", "print.headers=true", "print.offset=true")
    read = tool(
        "kafka-console-consumer",
        "--topic",
        name,
        *("--partition", 0, "--from-beginning", "--max-messages", 1),
        *(word for one in shown for word in ("--property", one)),
    )

    assert read.lines == ["Offset:0\tfrom:console\tkey\tvalue"]
