"""`eosfw topics` creates, lists, describes and deletes topics through every backend."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.cli.invocation import Ended, invoke

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ExitCode
from eosfw.protocols import NewTopic
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster

Topics = Callable[..., Ended]
COMMAND = [sys.executable, "-c", "import sys; from eosfw.cli import main; main(sys.argv[1:])"]


def run(*words: str) -> Ended:
    """`eosfw topics WORDS`."""
    return invoke("topics", *words)


def rows(ended: Ended) -> list[dict[str, Any]]:
    """The rows of `--json`; stdout holds nothing else."""
    assert ended.returncode == ExitCode.OK, ended.stderr
    found: list[dict[str, Any]] = json.loads(ended.stdout)["topics"]
    return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    """One for all tests: each names topics of its own."""
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    yield cluster
    cluster.close()


@pytest.fixture
def topics(cluster: EmbeddedCluster) -> Topics:
    """The command, through the memory client."""
    return lambda *words: run(words[0], *memory(cluster), *words[1:])


def memory(cluster: EmbeddedCluster) -> tuple[str, ...]:
    return "--bootstrap-servers", cluster.bootstrap_servers, "--backend", "memory"


@pytest.fixture
def orders(cluster: EmbeddedCluster) -> Iterator[str]:
    """A topic that exists."""
    backend = MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, ThreadRuntime())
    admin = backend.admin()
    admin.create_topics([NewTopic("orders", 2)])
    yield "orders"
    admin.delete_topics(["orders"])
    backend.close()


@pytest.mark.parametrize("backend", ["memory", "confluent", "kafka-python"])
def test_a_topic_is_created_described_and_deleted_through_every_backend(cluster: EmbeddedCluster, backend: str) -> None:
    name, reach = f"of.{backend}", ("--bootstrap-servers", cluster.bootstrap_servers, "--backend", backend, "--json")

    made = rows(run("create", name, "--partitions", "2", "--config", "cleanup.policy=compact", *reach))

    assert made == [{"topic": name, "partitions": 2}]
    assert made[0] in rows(run("list", *reach))
    (described,) = rows(run("describe", name, *reach))
    empty = {"log_start_offset": 0, "last_stable_offset": 0, "high_watermark": 0}
    assert described["partitions"] == [{"partition": f"{name}-{number}", **empty} for number in range(2)]
    assert described["config"]["cleanup.policy"] == "compact"
    assert rows(run("delete", name, "--yes", *reach)) == made
    assert made[0] not in rows(run("list", *reach))


def test_people_get_a_table_and_paragraphs(topics: Topics, orders: str) -> None:
    listed, described = topics("list").stdout.splitlines(), topics("describe", orders).stdout

    assert listed[0].split() == ["TOPIC", "PARTITIONS"]
    assert [orders, "2"] in [line.split() for line in listed]
    assert "orders-1 (log start offset 0, last stable offset 0, high watermark 0)" in described
    assert ["cleanup.policy", "delete"] in [line.split() for line in described.splitlines()]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("create orders", ExitCode.CONFIGURATION, "there is a topic 'orders' already, with 2 partitions"),
        ("create new --partitions 0", ExitCode.USAGE, "'--partitions'"),
        ("create new --partitions 10001", ExitCode.CONFIGURATION, "Excessively large number of partitions per request"),
        ("create new --config clean.policy=compact", ExitCode.CONFIGURATION, "nearest property is 'cleanup.policy'"),
        ("create new --config cleanup.policy", ExitCode.USAGE, "'cleanup.policy' is not written NAME=VALUE"),
        ("create new --config a=1 --config a=2", ExitCode.USAGE, "a is given twice"),
        ("create __consumer_offsets", ExitCode.CONFIGURATION, "this topic is the cluster's own"),
        ("describe oders", ExitCode.CONFIGURATION, "there is no topic 'oders'; did you mean 'orders'?"),
        ("delete orders oders --yes", ExitCode.CONFIGURATION, "there is no topic 'oders'; did you mean 'orders'?"),
        ("delete __transaction_state --yes", ExitCode.CONFIGURATION, "this topic is the cluster's own"),
        ("delete orders", ExitCode.USAGE, "stdin is no terminal, so nobody can be asked; add --yes"),
        ("create \udcff", ExitCode.USAGE, r"'\udcff' is not UTF-8"),
        ("create new --config cleanup.policy=\udcff", ExitCode.USAGE, "is not UTF-8"),
        ("describe orders \udcff", ExitCode.USAGE, r"'\udcff' is not UTF-8"),
        ("create new --partitions 2147483648", ExitCode.USAGE, "is not in the range"),
        ("create new --replication-factor 32768", ExitCode.USAGE, "is not in the range"),
        ("create new --replication-factor 20000 --backend confluent", ExitCode.CONFIGURATION, "out of expected range"),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(
    topics: Topics, orders: str, words: str, code: ExitCode, message: str
) -> None:
    ended = topics(*words.split())

    assert (ended.returncode, ended.stdout) == (code, "")
    (sentence,) = ended.stderr.splitlines()
    assert message in sentence
    assert rows(topics("list", "--json")) == [{"topic": orders, "partitions": 2}]


@pytest.mark.parametrize(("answer", "left"), [("n", 1), ("y", 0)])
def test_a_deletion_asks_first_and_takes_no_for_an_answer(
    topics: Topics, cluster: EmbeddedCluster, answer: str, left: int
) -> None:
    rows(topics("create", f"asked.{answer}", "--json"))
    terminal, inside = pty.openpty()
    os.write(terminal, f"{answer}\n".encode())

    command = [*COMMAND, "topics", "delete", f"asked.{answer}", *memory(cluster)]
    ended = subprocess.run(command, stdin=inside, capture_output=True, text=True, timeout=60, check=False)

    os.close(terminal)
    os.close(inside)
    assert ended.returncode == ExitCode.OK
    assert f"Delete asked.{answer} (1 partition) with all records?" in ended.stderr
    assert ("nothing was deleted" in ended.stderr) is bool(left)
    found = [row["topic"] for row in rows(topics("list", "--json"))]
    assert found.count(f"asked.{answer}") == left
    topics("delete", f"asked.{answer}", "--yes")


def test_the_help_names_each_command_with_its_purpose() -> None:
    shown = run("--help")

    assert shown.returncode == ExitCode.OK
    for line in ("create    Create a topic.", "delete    Delete topics with their records."):
        assert line in shown.stdout
    assert "--replication-factor" in run("create", "--help").stdout
