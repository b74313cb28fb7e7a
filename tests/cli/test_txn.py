"""`eosfw txn` leads from a reader that stands still to the producer that holds it, and lets it go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.invocation import Ended, invoke

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ExitCode, ProducerFencedError
from eosfw.ids import ProducerIdAndEpoch
from eosfw.records import ProducerRecord
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.storage.records.codec import encode_batch
from installation import install
from pytest_eos.contracts.backends.harness import COMMITTED, WAIT, BackendHarness

RUNTIME = ThreadRuntime()
Txn = Callable[..., Ended]
LOST = ProducerIdAndEpoch(4242, 0)


RECORDING = """
from pathlib import Path

from eosfw import ConfigDef, String, hookimpl
from eosfw.builtin.fencer import AdminFencer


class RecordingFencer(AdminFencer):
    name = "recording"
    config = ConfigDef(String("path", doc="where fenced ids are written"))

    def configure(self, config):
        self.path = Path(config["path"])

    def fence(self, transactional_ids, timeout):
        self.path.write_text(",".join(transactional_ids))
        return super().fence(transactional_ids, timeout)


@hookimpl
def eosfw_fencers():
    return [RecordingFencer]
"""


def ran(*words: str, site: Path | None = None) -> Ended:
    """`eosfw txn WORDS`; as a process, if there are plugins installed in `site`."""
    if site is None:
        return invoke("txn", *words)
    command = [sys.executable, "-c", "import sys; from eosfw.cli import main; main(sys.argv[1:])", "txn", *words]
    env = os.environ | {"PYTHONPATH": str(site)}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)


def rows(ended: Ended) -> list[dict[str, object]]:
    """The rows of `--json`; stdout holds nothing else."""
    assert ended.returncode in (ExitCode.OK, ExitCode.VERDICT_FAILED), ended.stderr
    found: list[dict[str, object]] = json.loads(ended.stdout)["transactions"]
    return found


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    cluster = EmbeddedCluster.start({}, RUNTIME)
    yield cluster
    cluster.close()


@pytest.fixture
def lab(cluster: EmbeddedCluster) -> Iterator[BackendHarness]:
    lab = BackendHarness(MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, RUNTIME), RUNTIME)
    yield lab
    lab.close()


@pytest.fixture
def txn(cluster: EmbeddedCluster) -> Txn:
    """The command, through the memory client."""
    return lambda *words: ran(*words, "--bootstrap-servers", cluster.bootstrap_servers, "--backend", "memory")


def test_a_zombie_that_holds_readers_back_is_found_and_fenced(lab: BackendHarness, txn: Txn) -> None:
    """The operator's story: who holds the topic, what would be aborted, fence, the last stable offset moved."""
    topic = lab.topic()
    lab.write(topic, b"before")
    zombie = lab.open_transaction(topic, b"half")
    lab.producer()  # an innocent one
    lab.write(topic, b"behind")
    own = str(zombie.transactional_id)

    assert [row["transactional_id"] for row in rows(txn("list", "--state", "ongoing", "--json"))] == [own]
    (described,) = rows(txn("describe", own, "--json"))
    assert described["partitions"] == [{"partition": f"{topic}-0", "start_offset": 1}]
    (planned,) = rows(txn("fence", own, "--dry-run", "--json"))
    assert planned["aborts"] == [f"{topic}-0"]
    assert lab.end(topic, COMMITTED) == 1, "--dry-run must change nothing"

    (fenced,) = rows(txn("fence", own, "--json"))

    assert fenced["last_stable_offsets"] == [{"partition": f"{topic}-0", "before": 1, "after": 4}]
    assert lab.values(topic) == [b"before", b"behind"]
    with pytest.raises(ProducerFencedError):
        zombie.commit_transaction(WAIT)


def test_a_table_is_for_people(lab: BackendHarness, txn: Txn) -> None:
    """Headings, a line per id; nothing on stdout where there is none."""
    zombie = lab.open_transaction(lab.topic(), b"half")

    shown = txn("list").stdout.splitlines()
    none = txn("list", "--older-than", "2h")

    assert shown[0].split() == ["TRANSACTIONAL", "ID", "PRODUCER", "ID", "STATE", "OPEN", "SECONDS", "PARTITIONS"]
    assert shown[1].split()[0] == zombie.transactional_id
    assert "start offset 0" in txn("describe", str(zombie.transactional_id)).stdout
    assert (none.stdout, none.stderr, none.returncode) == ("", "eosfw: none\n", 0)


def test_a_list_tells_how_long_a_transaction_is_open_and_where(lab: BackendHarness, txn: Txn) -> None:
    """Ids without an open transaction have neither."""
    first, second = lab.topic(), lab.topic(6)
    lab.producer()  # its transaction has not begun
    zombie = lab.open_transaction(first, b"half")
    for number in range(6):
        zombie.send(ProducerRecord(second, b"wide", partition=number))
    zombie.flush(WAIT)

    found = {row["transactional_id"]: row for row in rows(txn("list", "--json"))}
    shown = txn("list").stdout

    opened = found.pop(zombie.transactional_id)
    assert isinstance(opened["open_seconds"], float)
    assert opened["partitions"] == sorted([f"{first}-0", *(f"{second}-{number}" for number in range(6))])
    assert {(row["open_seconds"], tuple(row["partitions"])) for row in found.values()} == {(None, ())}
    assert "... (7 in all)" in shown


def test_a_hanging_transaction_is_found_and_aborted(cluster: EmbeddedCluster, lab: BackendHarness, txn: Txn) -> None:
    """COR-18: exit code 1 while a transaction hangs; the output names the command that ends it."""
    topic = lab.topic()
    partition = cluster.broker.topics.partition(topic, 0)
    assert partition is not None
    partition.log.append(encode_batch(None, [b"x"], 1, producer=LOST, base_sequence=0, transactional=True), 1)

    found = txn("hanging", "--topic", topic)
    assert found.returncode == ExitCode.VERDICT_FAILED
    assert f"eosfw txn abort {topic}-0 0" in found.stderr
    (planned,) = rows(txn("abort", f"{topic}-0", "0", "--dry-run", "--json"))
    assert (planned["producer_id"], lab.end(topic, COMMITTED)) == (LOST.producer_id, 0)

    (aborted,) = rows(txn("abort", f"{topic}-0", "0", "--json"))

    assert (aborted["last_stable_offset_before"], aborted["last_stable_offset_after"]) == (0, 2)
    assert txn("hanging").returncode == ExitCode.OK


def test_a_transaction_known_to_its_coordinator_is_not_aborted_manually(lab: BackendHarness, txn: Txn) -> None:
    """KIP-664: that would split a transaction; the way out is named, for those who mean it, too."""
    topic = lab.topic()
    holder = lab.open_transaction(topic, b"half")

    refused = txn("abort", f"{topic}-0", "0")
    assert refused.returncode == ExitCode.CONFIGURATION
    assert f"eosfw txn fence {holder.transactional_id}" in refused.stderr
    assert lab.end(topic, COMMITTED) == 0

    assert txn("abort", f"{topic}-0", "0", "--force").returncode == ExitCode.OK
    assert lab.end(topic, COMMITTED) == 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["describe", "orders-2-1x"], ExitCode.CONFIGURATION, "did you mean 'orders-2-1'?"),
        (["fence", "orders-2-1x"], ExitCode.CONFIGURATION, "did you mean 'orders-2-1'?"),
        (["list", "--state", "ongong"], ExitCode.USAGE, "did you mean Ongoing?"),
        (["list", "--older-than", "5 minutes"], ExitCode.USAGE, "write it like"),
        (["hanging", "--topic", "no-such-topic"], ExitCode.CONFIGURATION, "no topic 'no-such-topic'"),
        (["abort", "orders", "0"], ExitCode.USAGE, "write it like orders-0"),
        (["abort", "orders-" + "1" * 5_000, "0"], ExitCode.USAGE, "write it like orders-0"),
        (["abort", "no-such-topic-0", "0"], ExitCode.CONFIGURATION, "no topic 'no-such-topic'"),
        (["lst"], ExitCode.USAGE, "did you mean 'list'?"),
        (["list", "--older-than", "9" * 20 + "d"], ExitCode.USAGE, "is longer than"),
        (["list", "--producer-id", "9" * 20], ExitCode.USAGE, "is not in the range"),
        (["abort", "orders-0", "9" * 20], ExitCode.USAGE, "is not in the range"),
        (["fence", "any", "--timeout", "nan"], ExitCode.USAGE, "nan is not between"),
        (["describe", "\udcff"], ExitCode.USAGE, r"'\udcff' is not UTF-8"),
        (["fence", "fine", "\udcff"], ExitCode.USAGE, r"'\udcff' is not UTF-8"),
        (["hanging", "--topic", "\udcff"], ExitCode.USAGE, r"'\udcff' is not UTF-8"),
    ],
)
def test_a_mistake_is_reported_with_its_remedy(
    lab: BackendHarness, txn: Txn, words: list[str], code: int, message: str
) -> None:
    """The exit code tells what to do; nothing on stdout, one line on stderr."""
    lab.producer("orders-2-1")

    ended = txn(*words)

    assert (ended.returncode, ended.stdout) == (code, "")
    assert message in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_an_incapable_client_is_reported_with_capable_ones(cluster: EmbeddedCluster) -> None:
    """Capabilities: another client may reach the same cluster."""
    pytest.importorskip("eosfw_confluent")

    ended = ran("list", "--bootstrap-servers", cluster.bootstrap_servers, "--backend", "confluent")

    assert (ended.returncode, ended.stdout) == (ExitCode.CONFIGURATION, "")
    assert "memory" in ended.stderr.partition("those that can")[2]


def test_a_client_that_can_only_fence_fences(cluster: EmbeddedCluster, lab: BackendHarness) -> None:
    """Who is asked for by name does what it can."""
    pytest.importorskip("eosfw_confluent")
    topic = lab.topic()
    zombie = lab.open_transaction(topic, b"half")
    where = ["--bootstrap-servers", cluster.bootstrap_servers, "--backend", "confluent"]

    (fenced,) = rows(ran("fence", str(zombie.transactional_id), "--json", *where))

    assert (fenced["producer_id"], fenced["last_stable_offsets"]) == (None, [])
    with pytest.raises(ProducerFencedError):
        zombie.commit_transaction(WAIT)
    assert lab.values(topic) == []


@pytest.mark.parametrize("client", ["memory", "kafka-python"])
def test_an_unknown_id_does_not_affect_other_answers(
    cluster: EmbeddedCluster, lab: BackendHarness, client: str
) -> None:
    """COR-18: in the same words with every client; what is known is on stdout, who is not on stderr and in the code."""
    own = str(lab.open_transaction(lab.topic(), b"half").transactional_id)
    where = ["--bootstrap-servers", cluster.bootstrap_servers, "--backend", client]

    ended = ran("describe", "till nope", own, "nobody", "--json", *where)

    assert ended.returncode == ExitCode.CONFIGURATION
    assert [row["transactional_id"] for row in json.loads(ended.stdout)["transactions"]] == [own]
    first, second = ended.stderr.splitlines()
    assert "describe 'till nope'" in first
    assert "describe 'nobody'" in second
    for line in (first, second):
        assert "no coordinator knows this transactional id: never used, or expired" in line


@pytest.mark.parametrize("command", ["describe", "fence"])
def test_an_empty_id_is_a_mistake_of_the_caller(txn: Txn, command: str) -> None:
    """ADM-01: before any request."""
    ended = txn(command, "fine", "")

    assert (ended.returncode, ended.stdout) == (ExitCode.USAGE, "")
    assert "a transactional id is empty" in ended.stderr


@pytest.mark.parametrize("servers", ["localhost", "localhost:", "127.0.0.1:1,localhost", "localhost:99999", ","])
@pytest.mark.parametrize("client", ["memory", "kafka-python"])
def test_an_invalid_address_is_reported_before_connecting(tmp_path: Path, servers: str, client: str) -> None:
    """A usage error and an unreachable cluster have different exit codes."""
    typed = ran("list", "--bootstrap-servers", servers, "--backend", client)
    file = tmp_path / "p.toml"
    file.write_text(f'[cluster]\nbackend = "{client}"\n"bootstrap.servers" = "{servers}"\n')
    written = ran("list", "--pipeline", str(file))

    for ended, source in ((typed, "--bootstrap-servers"), (written, str(file))):
        assert (ended.returncode, ended.stdout) == (ExitCode.CONFIGURATION, "")
        assert source in ended.stderr
        assert "HOST:PORT" in ended.stderr


def test_fencing_without_describe_support_warns_that_the_id_may_be_unused(cluster: EmbeddedCluster) -> None:
    """Fencing an unknown id has no effect, so the command warns if it cannot check the id."""
    pytest.importorskip("eosfw_confluent")
    where = ["--bootstrap-servers", cluster.bootstrap_servers, "--backend", "confluent"]

    ended = ran("fence", "nope", "--json", *where)

    assert [row["transactional_id"] for row in rows(ended)] == ["nope"]
    assert "backend 'confluent' cannot look ids up" in ended.stderr
    assert "'nope'" in ended.stderr


def test_a_cluster_is_taken_from_a_pipeline_file(cluster: EmbeddedCluster, lab: BackendHarness, tmp_path: Path) -> None:
    """Its client is used if it can do this, else one that can; an embedded cluster cannot be looked at afterwards."""
    zombie = lab.open_transaction(lab.topic(), b"half")
    file = tmp_path / "p.toml"

    file.write_text(f'[cluster]\nbackend = "confluent"\n"bootstrap.servers" = "{cluster.bootstrap_servers}"\n')
    found = ran("list", "--json", "--pipeline", str(file))
    file.write_text('[cluster]\nbackend = "memory"\n')
    none = ran("list", "--json", "--pipeline", str(file))

    assert [row["transactional_id"] for row in rows(found)] == [zombie.transactional_id]
    assert none.returncode == ExitCode.CONFIGURATION
    assert "--bootstrap-servers" in none.stderr


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder in which a distribution with the fencer `recording` is installed."""
    site = install(tmp_path / "site", "recording", "[eosfw]\nrecording = recording_fencer\n")
    (site / "recording_fencer.py").write_text(RECORDING)
    return site


@pytest.mark.parametrize("section", ["worker", "connectors.orders"])
def test_the_fencer_that_a_pipeline_chooses_fences(
    cluster: EmbeddedCluster, lab: BackendHarness, site: Path, tmp_path: Path, section: str
) -> None:
    """It fences the ids of the pipeline's tasks, as before a new generation starts; no others (FEN-06)."""
    topic = lab.topic()
    task, other = (lab.open_transaction(topic, b"half", transactional_id=name) for name in ("g-orders-3", "g-other-3"))
    choice = f'fencer = "recording"\n"fencer.path" = "{tmp_path}/fenced"\n'
    file = tmp_path / "p.toml"
    file.write_text(
        f'[cluster]\nbackend = "memory"\n"bootstrap.servers" = "{cluster.bootstrap_servers}"\n'
        f'[worker]\n"group.id" = "g"\n{choice if section == "worker" else ""}'
        f'[connectors.orders]\n"connector.class" = "not-installed-here"\n{choice if section != "worker" else ""}'
    )

    ended = ran("fence", "g-orders-3", "g-other-3", "--json", "--pipeline", str(file), site=site)

    assert [row["transactional_id"] for row in rows(ended)] == ["g-orders-3", "g-other-3"]
    assert (tmp_path / "fenced").read_text() == "g-orders-3"
    for zombie in (task, other):
        with pytest.raises(ProducerFencedError):
            zombie.commit_transaction(WAIT)


def test_properties_of_a_chosen_fencer_are_checked_before_anything_is_fenced(
    cluster: EmbeddedCluster, lab: BackendHarness, site: Path, tmp_path: Path
) -> None:
    zombie = lab.open_transaction(lab.topic(), b"half", transactional_id="g-orders-0")
    file = tmp_path / "p.toml"
    file.write_text(
        f'[cluster]\nbackend = "memory"\n"bootstrap.servers" = "{cluster.bootstrap_servers}"\n'
        '[worker]\n"group.id" = "g"\nfencer = "recording"\n"fencer.pth" = "x"\n'
        '[connectors.orders]\n"connector.class" = "not-installed-here"\n'
    )

    ended = ran("fence", "g-orders-0", "--pipeline", str(file), site=site)

    assert (ended.returncode, ended.stdout) == (ExitCode.CONFIGURATION, "")
    assert "fencer.pth" in ended.stderr
    zombie.commit_transaction(WAIT)
