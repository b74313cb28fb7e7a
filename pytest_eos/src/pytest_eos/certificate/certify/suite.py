"""The tests of `eosfw certify`, for whatever connector its job names.

What is fast comes first: a bug that a task shows without a worker is found in a few seconds. `after_failure.py` skips
what would take long after that.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import pytest

from eosfw.concurrency import Runtime
from eosfw.connectors import SourceConnector
from eosfw.observe import STARTUP, TRANSACTION, TaskStep
from eosfw.runtime import acl_plan, connector_config
from pytest_eos.certificate.certify.job import CertifyJob
from pytest_eos.contracts import Source, SourceConnectorContract
from pytest_eos.contracts.connectors.task_driver import TaskDriver
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.environment.clusters.faults import BrokerFaults
from pytest_eos.harness import EosHarness
from pytest_eos.runs.groups.worker_group import WorkerGroup
from pytest_eos.runs.run import Run, whole_topics
from pytest_eos.simulation.plugin import PLAY_AGAIN
from pytest_eos.simulation.unsupported import NotSimulatedError
from pytest_eos.zombies import Zombies

JOB = CertifyJob.load()
FAULTS = (
    ("lose", {"request": "EndTxn"}),
    ("lose", {"request": "Produce"}),
    ("repeat", {"request": "Produce", "copies": 2}),
    ("restart", {"at": "after-prepare"}),
)
"""The answers to a commit and to records are lost, records arrive twice, the broker restarts within a commit."""


def _connector() -> type[SourceConnector]:
    module, _, name = JOB.connector.partition(":")
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    kind: type[SourceConnector] = found
    return kind


def _source() -> Source:
    return Source(_connector(), JOB.properties, JOB.records)


@pytest.fixture
def source() -> Source:
    """The connector of the job."""
    return _source()


@pytest.fixture
def short_source(request: pytest.FixtureRequest, source: Source, eos_clock: Runtime) -> Source:
    """The connector of the job, for simulated runs: each of them reads its source to the end."""
    driver = TaskDriver(source.connector(), source.texts, eos_clock)
    count = sum(len(driver.records(config, {}, source.most)) for config in driver.task_configs(1))
    if count >= source.most:
        pytest.skip(f"a simulated run reads its source to the end, and this one has {source.most:,} records or more")
    request.config.stash[PLAY_AGAIN] = JOB.play_again
    return source


def _unless_left_out(part: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(part in JOB.left_out, reason=JOB.left_out.get(part, ""))


class TestContract(SourceConnectorContract):
    """The contract; where transactions must end, in a connector that ends them itself, only its author can say."""

    asks_for_ends: ClassVar[bool] = True

    @pytest.fixture
    def source(self) -> Source:
        """The connector of the job."""
        return _source()

    @_unless_left_out("rights")
    @pytest.mark.skipif("transforms" in JOB.properties, reason="transformations may send records to other topics")
    @pytest.mark.skipif(
        any(find_spec(one) is None for one in ("scramp", "trustme")),
        reason="users need `pip install 'eosfw-memory[sasl,tls]'`",
    )
    @pytest.mark.eos_cluster(rights={"connector": []})
    @pytest.mark.eos_zombie(at="commit", nth=1)
    def test_the_least_rights_are_enough(
        self, eos: EosHarness, eos_cluster: Cluster, driver: TaskDriver, source: Source
    ) -> None:
        """What `eosfw acl plan` lists, and nothing else, around a zombie: its fencing needs rights, too."""
        given = {"tasks.max": "2", **source.texts}
        name = eos.default_connector_name(source.connector.name)
        worker = eos.worker("certified", user="connector")
        config = connector_config(source.connector(), name, given)
        for one in acl_plan(worker.local.config, config, _topics(driver, source)):
            where = f"{one.resource.value} {one.name}{'*' if one.prefixed else ''}"
            eos_cluster.allow("connector", *(f"{operation} on {where}" for operation in one.operations))

        run = eos.run(source.connector, given, until=source.most, name=name, worker=worker)

        eos.assert_exactly_once(run, run.source_records())


def _topics(driver: TaskDriver, source: Source) -> set[str]:
    """Where the records go."""
    configs = driver.task_configs(1)
    return {record.topic for config in configs for record in driver.records(config, {}, source.most)}


def _run(eos: EosHarness, source: Source, worker: WorkerGroup | None = None) -> Run:
    return eos.create_run(source.connector, source.given, worker=worker)


@_unless_left_out("faults")
@pytest.mark.parametrize(
    ("kind", "fields"), FAULTS, ids=["-".join([kind, *map(str, f.values())]) for kind, f in FAULTS]
)
def test_a_fault_of_the_broker_loses_and_repeats_nothing(
    eos: EosHarness, source: Source, faults: BrokerFaults, kind: str, fields: dict[str, Any]
) -> None:
    """The first transaction of the first task meets it."""
    run = _run(eos, source)
    faults.add(kind, transactional_id=f"{run.group.name}-{run.name}-0", **fields)

    run.group.put(run.name, run.properties)
    run.group.until_records(source.most)
    run.group.stop()

    eos.assert_exactly_once(run, run.source_records())


@_unless_left_out("groups")
def test_a_worker_of_a_group_that_sleeps_is_replaced(eos: EosHarness, source: Source, zombies: Zombies) -> None:
    """The leader, with its tasks; another worker takes over, then it wakes up."""
    group = eos.distributed(workers=2, scheduled_rebalance_max_delay_ms=0)
    run = _run(eos, source, group)
    group.put(run.name, run.properties)
    group.until_all_run()

    sleeper = zombies.worker(group, group.leader()).await_successor()
    group.until_records(source.most)
    sleeper.wake().await_end()
    group.stop()

    eos.assert_exactly_once(run, run.source_records())


@_unless_left_out("simulation")
@pytest.mark.eos_simulation(seeds=JOB.seeds)
def test_every_record_is_there_once_whatever_a_seed_draws(eos: EosHarness, short_source: Source) -> None:
    """Simulated runs of up to three workers: what happens to them, and when, each seed draws anew."""
    try:
        eos.run(short_source.connector, {"tasks.max": "2", **short_source.given})
    except NotSimulatedError as why:
        pytest.skip(str(why))


@_unless_left_out("kills")
@pytest.mark.eos_clock("real")
@pytest.mark.parametrize("step", [*STARTUP, *TRANSACTION], ids=lambda step: step.value)
def test_a_worker_process_killed_at_any_step_loses_and_repeats_nothing(
    eos: EosHarness, source: Source, zombies: Zombies, step: TaskStep
) -> None:
    """SIGKILL: nothing is closed, flushed or aborted by the process itself."""
    # At the second poll something is committed already, even of a short source.
    nth = 2 if step is TaskStep.POLL else 1
    given = {"tasks.max": "2", **source.given}
    victim = zombies.process(JOB.connector, given, at=step, nth=nth)
    victim.await_frozen().kill()

    worker = eos.worker(victim.group)
    run = eos.create_run(source.connector, given, name=victim.name, worker=worker)
    worker.put(run.name, run.properties)
    worker.until_records(source.most)
    worker.stop()

    eos.assert_exactly_once(whole_topics(run), run.source_records(), key="headers")


@_unless_left_out("spark")
@pytest.mark.eos_zombie(at="commit", nth=1)
def test_spark_reads_every_record_once(eos_spark: Any, eos: EosHarness, source: Source) -> None:
    """With a zombie's transaction, aborted, between the committed ones."""
    run = eos.run(source.connector, source.given, until=source.most)

    eos.assert_exactly_once(run.dataframe(eos_spark), run.source_records())
