"""`eosfw run`: summary, failures, signals."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from tests.cli.conftest import ENDLESS, RECORDS

from eosfw.errors import ExitCode
from ports import free_port

STEP = """[[steps]]
name = "rows"
inputs = ["t"]
sql = "{sql}"
output = "out"
"""


def step(sql: str = "count") -> str:
    return STEP.format(sql=sql)


def sentences(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def test_the_summary_is_one_json_object_whatever_plugins_print(command, pipeline) -> None:
    """Stdout holds only the counts of committed records and transactions."""
    file = pipeline(more='records = 7\n"tasks.max" = 2\n"eosfw.identity" = "field:n"', steps=step())
    run = command("run", "--json", file)

    assert run.end() == 0, run.err()
    summary = json.loads(run.out())
    assert {name: summary[name] for name in ("records", "zombies_fenced", "duplicates", "missing")} == {
        "records": 14, "zombies_fenced": 0, "duplicates": 0, "missing": 0,
    }  # fmt: skip
    assert summary["transactions"] > 0
    assert summary["rows_out"] >= 14
    assert summary["seconds"] > 0
    assert "a connector that prints" in run.err()


def test_the_summary_for_people_says_what_is_kept(command, pipeline) -> None:
    """Without a data directory nothing survives the run, and the user has to know."""
    run = command("run", "--quiet", pipeline())

    assert run.end() == 0, run.err()
    assert "10 records committed in 10 transactions, 0 zombies fenced" in run.out()
    assert "not verified" in run.out()
    assert "embedded broker kept everything in memory" in run.out()
    assert "checking" not in run.err()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("raising", "eosfw: task c-0 failed: RuntimeError: the source fell over (in poll, "),
        ("strange", "int at index 0"),
        ("unserialisable", "task c-0 failed: "),
    ],
)
def test_a_connector_that_fails_is_one_sentence(command, pipeline, kind, message) -> None:
    run = command("run", "--quiet", pipeline(kind, more="records = 3"))

    assert run.end() == 1
    assert message in run.err()
    assert len(sentences(run.err())) == 1
    assert run.out() == ""


def test_the_traceback_of_a_connector_is_shown_on_request(command, pipeline) -> None:
    run = command("--debug", "run", pipeline("raising", more="records = 3"))

    assert run.end() == 1
    assert 'raise RuntimeError("the source fell over")' in run.err()


@pytest.mark.parametrize("leaks", ["run", "read"])
def test_stderr_shows_no_password_of_a_connector(start, pipeline, leaks) -> None:
    """Neither in the error of its task, nor in what it logs, nor in a traceback."""
    given = pipeline("leaky", more='password = "canary-s3cret"')
    if leaks == "run":
        ended = start("--debug", "run", given)
    else:
        ended = start("--debug", "read", "leaky", "-p", "topic=t", "-p", "password=canary-s3cret")

    assert ended.end() == 1

    assert "the source refuses [hidden]" in ended.err()
    assert "poll with [hidden]" in ended.err()
    assert "canary" not in ended.err() + ended.out()


def test_a_failing_step_is_named_and_fails_the_run(command, pipeline) -> None:
    run = command("run", pipeline(steps=step("fail")))

    assert run.end() == 1
    assert "eosfw: step 'rows' failed: no such column" in run.err()


def test_the_first_signal_stops_the_run_cleanly(start, pipeline) -> None:
    """The batch is finished and committed, so the next run repeats nothing; SIGINT and SIGHUP end other tests' runs."""
    run = start("run", pipeline("slow", more=ENDLESS))
    run.until(lambda: run.polled() > 1)

    run.send(signal.SIGTERM)

    assert run.end() == ExitCode.INTERRUPTED
    assert "stopping cleanly" in run.err()
    assert "interrupted: what was polled is committed; the next run" in run.err()
    assert "Traceback" not in run.err()


def test_the_second_signal_stops_the_run_at_once(start, pipeline) -> None:
    """The producers are closed at once, so open transactions abort."""
    run = start("run", pipeline("blocked"))
    run.until(lambda: "the source does not answer" in run.err())

    run.send(signal.SIGINT)
    run.until(lambda: "stopping cleanly" in run.err())
    run.send(signal.SIGINT)

    assert run.end() == ExitCode.INTERRUPTED
    assert "interrupted at once: open transactions abort" in run.err()


def test_a_signal_during_a_step_ends_the_step(start, pipeline) -> None:
    """A signal does not wait for a step that may take hours."""
    run = start("run", pipeline(steps=step("wait")))
    run.until(lambda: "a step that waits" in run.err())

    run.send(signal.SIGINT)

    assert run.end() == ExitCode.INTERRUPTED
    assert "the engine was closed" not in run.err()


@pytest.mark.parametrize("delay", [0.05, 0.35])
def test_a_signal_at_any_moment_leaves_no_traceback(start, pipeline, delay) -> None:
    """Also while plugins load, the file is checked, the broker starts."""
    run = start("run", pipeline("endless"))
    run.until(lambda: "checking" in run.err())
    with pytest.raises(Exception):  # noqa: B017, PT011 (TimeoutExpired: it runs on)
        run.process.wait(delay)

    run.send(signal.SIGINT)

    assert run.end() == ExitCode.INTERRUPTED
    assert "Traceback" not in run.err()


def test_a_stuck_run_ends_by_its_timeout_and_reports_its_position(start, pipeline) -> None:
    run = start("run", "--timeout", "1800", "--idle", "600", pipeline("patient", graceful_ms=1))

    assert run.end() == ExitCode.UNAVAILABLE
    assert "not done within 1800 s" in run.err()
    assert "task c-0 of generation 0: step poll" in run.err()
    assert "no transaction is open" in run.err()


@pytest.mark.parametrize("backend", ["memory", "confluent", "kafka-python"])
def test_a_cluster_that_does_not_answer_is_named_in_bounded_time(command, pipeline, backend) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        file = pipeline(cluster=f'"bootstrap.servers" = "{address}"\n"default.api.timeout.ms" = 3000')
        file.write_text(file.read_text().replace('backend = "confluent"', f'backend = "{backend}"'))
        run = command("run", file)

        assert run.end() == ExitCode.UNAVAILABLE
    assert address in run.err()


@pytest.mark.parametrize(
    ("backend", "steps"),
    [("memory", ""), ("confluent", ""), ("kafka-python", ""), ("confluent", STEP.format(sql="select 1"))],
    ids=["memory", "confluent", "kafka-python", "steps"],
)
def test_an_unreachable_address_ends_a_run_before_its_clients_timeout(command, pipeline, backend, steps) -> None:
    """The client here would try for ten minutes; steps make the check of the file ask the cluster first."""
    address = f"127.0.0.1:{free_port()}"
    waits = '"default.api.timeout.ms" = 600000\n"max.block.ms" = 600000'
    file = pipeline(cluster=f'"bootstrap.servers" = "{address}"\n{waits}', steps=steps)
    file.write_text(file.read_text().replace('backend = "confluent"', f'backend = "{backend}"'))
    run = command("run", "--quiet", file)

    assert run.end() == ExitCode.UNAVAILABLE
    assert run.err() == (
        f"eosfw: no broker listens at {address} (Connection refused); "
        "is the cluster running, is bootstrap.servers right?\n"
    )
    assert run.out() == ""


NIGHTLY = pytest.mark.nightly


@pytest.mark.parametrize("kind", ["slow", pytest.param("held", marks=NIGHTLY)])
def test_two_runs_of_a_file_leave_one_without_duplicates(start, pipeline, cluster, kind, tmp_path) -> None:
    """The older run is superseded while it sends (its producer is fenced), and while it is idle."""
    name, release = f"two-{uuid4().hex}", tmp_path / "release"
    records = RECORDS if kind == "slow" else 10  # however long the newer run takes to start, the older one sends
    more = f'records = {records}\n"tasks.max" = 2\n"eosfw.identity" = "headers"\nrelease = "{release}"'
    file = pipeline(kind, cluster=external(cluster), group=name, topic=name, more=more)
    older = start("run", file)
    older.until(lambda: "a connector that prints" in older.err())
    newer = start("run", "--json", "--verify", file)

    assert older.end() == ExitCode.FENCED
    release.touch()
    assert "a newer run of this worker group took over" in older.err()
    assert newer.end() == 0, newer.err()
    assert verdict(newer) == (0, 0)


@pytest.mark.parametrize(
    "how",
    [
        pytest.param([signal.SIGINT], id="once"),
        pytest.param([signal.SIGINT, signal.SIGINT], id="twice", marks=NIGHTLY),
        pytest.param([signal.SIGKILL], id="killed"),
    ],
)
def test_the_run_after_an_interrupted_one_continues_without_loss_or_repeat(
    start, pipeline, cluster, how, tmp_path
) -> None:
    """After one signal, after two, after a kill: what was committed is where the next run starts."""
    name, release = f"on-{uuid4().hex}", tmp_path / "release"
    more = f'{ENDLESS}\n"tasks.max" = 2\n"eosfw.identity" = "headers"\nrelease = "{release}"'
    file = pipeline("slow", cluster=external(cluster), group=name, topic=name, more=more)
    first = start("run", file)
    first.until(lambda: first.polled() > 10)
    for number in how:
        first.send(number)
    first.end()
    release.touch()

    second = start("run", "--json", "--verify", file)
    assert second.end() == 0, second.err()
    assert verdict(second) == (0, 0)
    assert 0 < json.loads(second.out())["records"] < 2 * RECORDS


def test_steps_alone_read_what_an_earlier_run_committed(command, pipeline, embedded) -> None:
    """A step reads its topics from the beginning, whichever run wrote them."""
    name = f"alone-{uuid4().hex}"
    steps = step().replace('"t"', f'"{name}"')
    file = pipeline(cluster=f'"bootstrap.servers" = "{embedded}"', group=name, topic=name, steps=steps)
    assert command("run", "--quiet", file).end() == 0

    alone = command("run", "--json", "--steps-only", file)

    assert alone.end() == 0, alone.err()
    summary = json.loads(alone.out())
    assert (summary["records"], summary["unverified"]) == (0, ["--steps-only"])
    assert summary["steps"]["rows"]["rows"] >= 10


def test_a_step_behind_an_open_transaction_waits_then_says_where(command, pipeline, embedded) -> None:
    """A step that read less would silently give a wrong result; committed records stay for the next run."""
    name = f"held-{uuid4().hex}"
    steps = step().replace('"t"', f'"{name}"')

    def write(more: str = "records = 3") -> Path:
        return pipeline(cluster=f'"bootstrap.servers" = "{embedded}"', group=name, topic=name, more=more, steps=steps)

    assert command("run", "--quiet", write()).end() == 0
    holder = Producer({"bootstrap.servers": embedded, "transactional.id": f"{name}-holder", "log_level": 0})
    holder.init_transactions(10)
    holder.begin_transaction()
    holder.produce(name, b"undecided")
    holder.flush(10)

    # For as long as a transaction of its own may last, a run waits for those of others; there is nothing left to write.
    held = command("run", write('"producer.override.transaction.timeout.ms" = 2000\nrecords = 3'))
    assert held.end() == ExitCode.UNAVAILABLE
    assert f"topic '{name}', partition 0: held back at offset " in held.err()
    assert held.out() == ""

    holder.abort_transaction(10)
    assert command("run", "--quiet", write()).end() == 0


def external(cluster) -> str:
    return f'"bootstrap.servers" = "{cluster.bootstrap_servers}"'


def verdict(run) -> tuple[int | None, int | None]:
    summary = json.loads(run.out())
    return summary["duplicates"], summary["missing"]


@pytest.mark.spark
def test_without_java_a_step_is_refused_before_anything_starts(start, pipeline) -> None:
    """All of a file is checked first: records committed for a step that cannot run would be a surprise."""
    pytest.importorskip("eosfw_spark")
    file = pipeline(steps=step())
    file.write_text(file.read_text().replace('engine = "plain"', 'engine = "spark"'))
    run = start("run", file, env={"PATH": "/nowhere", "JAVA_HOME": ""})

    assert run.end() == ExitCode.CONFIGURATION
    assert "Java" in run.err()
    assert "running c against" not in run.err()


def test_checking_reports_every_problem_and_starts_nothing(command, tmp_path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(
        """engine = "plain"
[clster]
[cluster]
backend = "conflunt"
[worker]
"exactly.once.source.suport" = "enabled"
[connectors.c]
"connector.class" = "filee"
"tasks.max" = 0
"""
    )
    run = command("run", "--check", file)
    assert run.end() == ExitCode.CONFIGURATION
    message = run.err()
    assert "unknown key 'clster'; did you mean 'cluster'?" in message
    assert "no backend 'conflunt'" in message
    assert "Did you mean 'confluent'?" in message
    assert "did you mean 'exactly.once.source.support'?" in message
    assert '"group.id"' in message
    assert "no connector 'filee'" in message
    assert "tasks.max: Value must be at least 1" in message
    assert all(line.startswith("eosfw: bad.toml") for line in sentences(message))
    assert run.out() == ""
