"""`eosfw broker --faults FILE`: the faults affect every client; stderr lists the triggered ones."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Finished

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import IndefiniteOutcomeError
from eosfw_memory.client.backend import MemoryBackend
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record

EOSFW = (sys.executable, "-c", "from eosfw.cli.entry import main; main()")
Start = Callable[..., tuple[subprocess.Popen[str], BackendHarness]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a broker with a fault file; return its process and a `BackendHarness` on it."""
    running: list[tuple[subprocess.Popen[str], BackendHarness]] = []

    def started(faults: str, *options: str) -> tuple[subprocess.Popen[str], BackendHarness]:
        file = tmp_path / "faults.toml"
        file.write_text(faults, encoding="utf-8")
        command = [*EOSFW, "broker", "--listen", "127.0.0.1:0", "--faults", str(file), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        servers = process.stdout.readline().removeprefix("listening on ").strip()
        assert servers, process.communicate()[1]
        runtime = ThreadRuntime()
        running.append(
            (process, BackendHarness(MemoryBackend.connect({"bootstrap.servers": servers}, runtime), runtime))
        )
        return running[-1]

    yield started
    for process, lab in running:
        lab.close()
        process.kill()
        process.communicate()


def commit(lab: BackendHarness, topic: str) -> None:
    producer = lab.producer("orders-0")
    producer.begin_transaction()
    producer.send(record(topic, b"v"))
    producer.commit_transaction(WAIT)


def test_triggered_and_untriggered_faults_are_listed_on_stderr(start: Start) -> None:
    """A fault that never struck tested nothing, so the broker says so."""
    process, lab = start(
        '[[fault]]\nkind = "lose"\nrequest = "EndTxn"\ntransactional_id = "orders-0"\n'
        '[[fault]]\nkind = "repeat"\nrequest = "EndTxn"\nnth = 100\n'
    )
    topic = lab.topic()

    with pytest.raises(IndefiniteOutcomeError):
        commit(lab, topic)
    seen = lab.values(topic)
    process.send_signal(signal.SIGTERM)
    _, message = process.communicate(timeout=WAIT)

    assert seen == [b"v"]
    assert "fault lose EndTxn, 1st, transactional_id=orders-0: fired at " in message
    assert "fault repeat EndTxn, 100th: never fired: only 1 of the 100 it waits for came by" in message


@pytest.mark.parametrize("point", ["before-prepare", "after-prepare"])
def test_a_broker_killed_in_a_commit_recovers_with_one_outcome(start: Start, tmp_path: Path, point: str) -> None:
    """The transaction coordinator's process dies: nothing but the logs is left; `test_failover` has every point."""
    where = ("--data-dir", str(tmp_path / "data"))
    process, lab = start(f'[[fault]]\nkind = "kill"\nat = "{point}"\ntransactional_id = "orders-0"\n', *where)
    topic = lab.topic()

    try:
        commit(lab, topic)
        committed = True
    except IndefiniteOutcomeError:
        committed = False
    assert process.wait(WAIT) == -signal.SIGKILL
    _, again = start('[[fault]]\nkind = "jump"\nat = "after-Fetch"\nseconds = 0\n', *where)
    again.producer("orders-0").close()

    seen = again.values(topic)
    assert seen == ([] if point == "before-prepare" else [b"v"])
    assert seen or not committed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[fault]]\nkind = "loose"\n', "fault 1: kind: there is no fault 'loose'; did you mean 'lose'"),
        ('[[fault]]\nkind = "lose"\nrequest = "EndTxn"\nnht = 2\n', "fault 1: nht: "),
        ('[[fault]]\nkind = "fail"\nrequest = "EndTxn"\n', "fault 1: code: fail does not say which"),
        ('[[fault]]\nknd = "lose"\nrequest = "EndTxn"\n', "fault 1: kind: is missing; did you mean it by 'knd'?"),
        ("[[fault]]\nkind = 3\n", "fault 1: kind: there is no fault '3'"),
        ("[[fault]\n", "is no TOML"),
        ("[fault]\n", "write a table [[fault]] for each fault"),
        ("", "write a table [[fault]] for each fault"),
    ],
)
def test_an_invalid_fault_file_is_refused_naming_file_and_key(
    command: Callable[..., Finished], tmp_path: Path, text: str, message: str
) -> None:
    """Exit code 3, no traceback."""
    file = tmp_path / "faults.toml"
    file.write_text(text, encoding="utf-8")

    done = command("broker", "--listen", "127.0.0.1:0", "--faults", file)

    assert done.end() == 3
    assert f"{file}: " in done.err()
    assert message in done.err()
    assert "Traceback" not in done.err()
