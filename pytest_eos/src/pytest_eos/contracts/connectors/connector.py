"""The contract of a source connector that is exactly once."""

from __future__ import annotations

import json
import pickle
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from eosfw.concurrency import Runtime
from eosfw.config.connector import SOURCE_CONNECTOR
from eosfw.connectors import AltersOffsets, ExactlyOnceSupport, SourceConnector
from eosfw.errors import Problem
from eosfw.observe import STARTUP, TRANSACTION, TaskStep
from eosfw.records import SourceRecord
from eosfw.runtime import connector_config, read_problems
from eosfw.text import quantity
from pytest_eos.contracts.connectors.altered_offsets import altered_wrongly
from pytest_eos.contracts.connectors.in_subprocess import answers, answers_in_subprocess, disagreement
from pytest_eos.contracts.connectors.record_differences import first_difference
from pytest_eos.contracts.connectors.resumption import (
    by_partition,
    committable,
    other_tasks_resume_elsewhere,
    places,
    resumed_elsewhere,
    task_counts_disagree,
)
from pytest_eos.contracts.connectors.source import Source
from pytest_eos.contracts.connectors.task_driver import PATIENCE, TaskDriver, key_of
from pytest_eos.contracts.process_resources import refuse_leftovers
from pytest_eos.environment.clusters.cluster import runtime
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.config.options import SETTINGS
from pytest_eos.environment.diagnostics.watchdog import watching
from pytest_eos.harness import EosHarness
from pytest_eos.runs.run import whole_topics

_READ = pytest.StashKey[int]()
"""How many records a task gave in the tests of a class so far, at most."""
_UNENDED = pytest.StashKey[bool]()
"""Whether a test of a class says that the source comes to no end: each other would wait for that, and say less."""
_LOOKS = 3
"""How often a connector looks at a source that stands still."""
_SECONDS_OF_OUR_TIME = range(10**9, 10**10)
"""Timestamps from 2001 on if they were seconds; as milliseconds they lie between January and April of 1970."""
_WAIT = 0.05
"""Real seconds for threads of a task to fill what they fill, and to wait for room, before the task is stopped."""


class SourceConnectorContract:
    """Inherit it, define the fixture `source`."""

    asks_for_ends: ClassVar[bool] = False

    @pytest.fixture
    def source(self) -> Source:
        """The connector under test; its source must not change while a test runs."""
        raise pytest.UsageError(f"{type(self).__name__}: define a fixture `source` that returns a Source")

    @pytest.fixture
    def driver(self, request: pytest.FixtureRequest, source: Source, eos_clock: Runtime) -> Iterator[TaskDriver]:
        """A driver that runs tasks without a worker."""
        driver = TaskDriver(source.connector(), source.texts, eos_clock)
        if driver.ends_transactions and not self.asks_for_ends:
            raise pytest.UsageError(
                f"connector {source.connector.name!r} ends its transactions itself: have {type(self).__name__} inherit "
                f"TransactionBoundariesContract, which has every test of this contract and those for its ends"
            )
        patience = request.config.stash[SETTINGS].patience
        of_class = request.node.parent.stash
        if of_class.get(_UNENDED, False):
            pytest.skip("a test before this one says that the source comes to no end")
        driver.read_before = of_class.get(_READ, 0)
        with watching(of_class, driver.calls, patience, virtual=driver.virtual):
            yield driver
        of_class[_READ] = max(driver.read_before, *(calls.records for calls in driver.calls.tasks), 0)

    # --- its declarations

    def test_it_says_that_it_is_exactly_once(self, source: Source) -> None:
        """CFG-01: unless it says so, `exactly.once.support=required` refuses it."""
        connector = source.connector()
        config = connector_config(connector, "contract", source.texts)

        support = connector.exactly_once_support(config)
        assert support is ExactlyOnceSupport.SUPPORTED, (
            f"`exactly_once_support` of {source.connector.__name__} answers {support}: once its tasks resume exactly "
            f"at the committed offsets, have it return ExactlyOnceSupport.SUPPORTED"
        )
        problems = [problem.what for problem in _problems(source, connector.problems(config), "problems")]
        assert not problems, f"it refuses the properties of the fixture `source`: {'; '.join(problems)}"

    def test_its_check_finds_no_fault_with_its_source(self, driver: TaskDriver, source: Source) -> None:
        """`eosfw run --check` and `eosfw doctor` show the result of `check`, which a connector may leave out."""
        connector = source.connector()
        if type(connector).check is SourceConnector.check:
            return
        before = by_partition(driver, source)
        found = _problems(source, connector.check(connector_config(connector, "contract", source.texts)), "check")

        problems = "; ".join(str(problem) for problem in found)
        assert not found, f"`check` of {source.connector.__name__} finds fault with the source of this test: {problems}"
        after = by_partition(driver, source)
        assert before == after, (
            f"`check` of {source.connector.__name__} changes the source, which it must only look at: "
            f"{first_difference(_flat(before), _flat(after))}"
        )

    def test_its_properties_are_documented_and_clash_with_none_of_the_frameworks(self, source: Source) -> None:
        """CFG-05: each property has one definition."""
        keys = source.connector.config.keys

        own = sorted(set(keys) & set(SOURCE_CONNECTOR.keys))
        assert not own, f"properties that are the framework's own: {', '.join(own)}"
        silent = [name for name, key in keys.items() if not key.doc]
        assert not silent, f"properties without a word on their purpose: {', '.join(silent)}"

    # --- its task configs

    @pytest.mark.parametrize("most", [1, 2, 5])
    def test_it_makes_no_more_tasks_than_it_may(self, driver: TaskDriver, most: int) -> None:
        """`tasks.max` is a limit."""
        count = len(driver.task_configs(most))
        assert count <= most, f"`task_configs` makes {count} tasks, though tasks.max is {most}"

    def test_its_shares_survive_the_config_topic(self, driver: TaskDriver) -> None:
        """LOG-02: texts only, and the same at every call; another worker starts a task from what it reads there."""
        task_configs = [dict(task_config) for task_config in driver.task_configs(3)]
        odd = {
            f"{name}: {value!r}"
            for task_config in task_configs
            for name, value in task_config.items()
            if not isinstance(value, str)
        }
        again = [dict(task_config) for task_config in driver.task_configs(3)]

        assert not odd, f"a share holds what is no text, {', '.join(sorted(odd))}: texts alone come back from the topic"
        assert again == task_configs, (
            f"asked twice, it splits its work in two ways: {first_difference(task_configs, again)}"
        )
        assert [json.loads(json.dumps(task_config)) for task_config in task_configs] == task_configs

    def test_no_source_partition_belongs_to_two_tasks(self, driver: TaskDriver, source: Source) -> None:
        """KIP-618: two tasks with one source partition overwrite each other's offsets."""
        owners: dict[str, list[int]] = {}
        for number, task_config in enumerate(driver.task_configs(3)):
            records = driver.records(task_config, {}, source.most, number=number)
            for partition in sorted({key_of(record.source_partition) for record in records}):
                owners.setdefault(partition, []).append(number)
        twice = [f"{partition} belongs to tasks {who}" for partition, who in owners.items() if len(who) > 1]
        remedy = "each record needs a `source_partition`" if "{}" in owners else "`task_configs` must give it to one"

        assert not twice, f"two tasks own one source partition: {'; '.join(twice)}; {remedy}"

    # --- its offsets

    def test_the_same_source_gives_the_same_records(
        self, request: pytest.FixtureRequest, driver: TaskDriver, source: Source
    ) -> None:
        """A source that cannot be replayed can neither be verified nor resumed."""
        first = by_partition(driver, source)
        if driver.unended:
            request.node.parent.stash[_UNENDED] = True
            pytest.fail(
                f"the source gave no record for {PATIENCE:g} s, yet its `at_end` says that there are more: have `poll` "
                f"raise the error of a thread that reads for it; `at_end` is None where nobody knows. "
                f"{driver.summary()}",
                pytrace=False,
            )
        second = by_partition(driver, source)

        assert first == second, (
            f"read again, the source gives other records, so whoever resumes repeats or loses some: "
            f"{first_difference(_flat(first), _flat(second))}"
        )
        if not first and (elsewhere := _in_fresh_process(driver, source)):
            pytest.fail(
                f"a task that was given no offset starts behind what earlier tasks of this process have read, and gives"
                f" no record, where one in a fresh process gives {elsewhere}: it keeps its place in a class, a module"
                f" or an object of this process; it must start from `context.offset(...)` alone",
                pytrace=False,
            )
        if not first and driver.read_before:
            pytest.fail(
                f"a task that was given no offset gives no record, though one of an earlier test gave "
                f"{driver.read_before:,}: it keeps its place somewhere else, say in a file, or takes records out of "
                f"the source; it must start from `context.offset(...)` alone",
                pytrace=False,
            )
        assert first, f"the source gives no record: give it properties under which it does. {driver.summary()}"

    def test_another_process_gets_the_same_records(self, driver: TaskDriver, source: Source) -> None:
        """A task runs in any worker's process; nothing may depend on this one, on its time zone for example."""
        here = answers(driver, source.most)
        there = answers_in_subprocess(source.connector, source.texts, source.most, virtual=driver.virtual)

        if differs := disagreement(here, there):
            pytest.fail(differs, pytrace=False)

    def test_its_records_can_be_handed_to_another_process(self, driver: TaskDriver, source: Source) -> None:
        """Plain values only: tools keep records in files and send them to Spark's workers."""
        records = [
            record for task_config in driver.task_configs(1) for record in driver.records(task_config, {}, source.most)
        ]

        assert pickle.loads(pickle.dumps(records)) == records  # noqa: S301 - our own bytes

    def test_its_timestamps_are_milliseconds(self, driver: TaskDriver, source: Source) -> None:
        """Topics forget records by their timestamps, and readers find them by these."""
        stamps = [one.timestamp for one in _flat(by_partition(driver, source)) if one.timestamp is not None]
        assert not stamps or not all(stamp in _SECONDS_OF_OUR_TIME for stamp in stamps), (
            f"its timestamps lie in the first months of 1970, {stamps[0]} for example: a timestamp is milliseconds "
            f"since 1970, and these seem to be seconds"
        )

    def test_every_record_has_an_offset_of_its_own(self, driver: TaskDriver, source: Source) -> None:
        """The identity of a record is its source partition and source offset."""
        for partition, records in by_partition(driver, source).items():
            if repeating := _repeating(partition, records):
                pytest.fail(repeating, pytrace=False)

    def test_offsets_can_be_stored(self, driver: TaskDriver, source: Source) -> None:
        """OFF-01: flat mappings of primitives."""
        store = installed_plugins().offset_store()
        for records in by_partition(driver, source).values():
            stated = [(record.source_partition, record.source_offset) for record in records]
            assert len(store.encode("contract", "offsets", stated)) == len(stated), "an offset got lost"

    def test_a_task_resumes_right_behind_any_committed_offset(self, driver: TaskDriver, source: Source) -> None:
        """OFF-02: an offset ahead of its record loses the record, an offset behind it repeats the record."""
        everything = by_partition(driver, source)
        ends = committable(driver, source) if driver.ends_transactions else None
        ended = sum(map(len, everything.values())) < source.most
        for records in everything.values():
            behind = [at for at, one in enumerate(records) if ends is None or _place(one) in ends]
            for number in places(len(behind), runtime()):
                if wrong := resumed_elsewhere(driver, source, records, behind[number], ended=ended):
                    pytest.fail(wrong, pytrace=False)

    def test_source_partitions_are_the_same_for_any_number_of_tasks(self, driver: TaskDriver, source: Source) -> None:
        """KIP-618: with another `tasks.max`, offsets and fencing must still be those of the same source partitions."""
        if wrong := task_counts_disagree(driver, source):
            pytest.fail(wrong, pytrace=False)

    def test_a_task_goes_on_where_transactions_of_other_tasks_ended(self, driver: TaskDriver, source: Source) -> None:
        """KIP-618: whoever owns a source partition now, and however far others have come."""
        for wrong in other_tasks_resume_elsewhere(driver, source):
            pytest.fail(wrong, pytrace=False)

    def test_its_offsets_can_be_altered_to_those_that_it_states_alone(self, driver: TaskDriver, source: Source) -> None:
        """What `alter_offsets`, which a connector may leave out, lets pass is where the next task starts."""
        connector = source.connector()
        if isinstance(connector, AltersOffsets):
            config = connector_config(connector, "contract", source.texts)
            records = _flat(by_partition(driver, source))
            if records and (wrong := altered_wrongly(connector, config, records)):
                pytest.fail(wrong, pytrace=False)

    # --- its resources

    def test_a_stopped_task_leaves_nothing_behind(
        self, driver: TaskDriver, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Threads, connections, descriptors, processes and temporary files end with `stop`; a worker starts many tasks.

        What the first task creates for all tasks, and keeps, is not counted; nor what others in this process open
        meanwhile: a task that leaves something behind does so each time.
        """
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        monkeypatch.setenv("TMPDIR", str(temporary))
        refuse_leftovers("a stopped task", temporary, lambda: _read_whole_and_in_part(driver, source))

    # --- its watch, for a connector that defines `start` or `watch`

    def test_it_asks_for_no_other_tasks_while_its_source_stands_still(self, driver: TaskDriver) -> None:
        """PLG-05: each request that changes something replaces all tasks; one that asks in vain does so for ever."""
        for watch in driver.watches(_LOOKS):
            assert watch.errors == [], f"it says that it failed: {watch.errors[0]!r}"
            odd = [one for one in watch.pauses if one is not None and not (isinstance(one, int | float) and one >= 0)]
            assert not odd, f"`watch` returns {odd[0]!r}: it must return seconds, or None"
            assert watch.requests == 0, (
                f"it asked {watch.requests} times for other tasks in {_LOOKS} looks at a source that stands still"
            )

    def test_its_watch_ends_when_it_is_stopped(
        self, driver: TaskDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """PLG-04: the leader may change, and each leader starts every connector."""
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        monkeypatch.setenv("TMPDIR", str(temporary))
        if driver.watches(1):
            refuse_leftovers("a stopped watch of the source", temporary, lambda: driver.watches(_LOOKS))

    # --- under a worker

    def test_a_run_writes_every_record_once(self, eos: EosHarness, source: Source) -> None:
        """TXN-04: in the worker's transactions; behind them the source hears of each commit."""
        run = eos.run(source.connector, source.given, until=source.most)

        eos.assert_exactly_once(run, run.source_records())
        for failure in filter(None, (calls.callback_failure for calls in eos.plugins.calls.tasks)):
            pytest.fail(
                f"{failure}: the commit stands, the worker logs the error and goes on, so the source never hears that "
                f"these records are committed",
                pytrace=False,
            )

    def test_a_run_continues_where_the_previous_run_stopped(self, eos: EosHarness, source: Source) -> None:
        """OFF-02: stopped before its end, then started again."""
        eos.run(source.connector, source.given, until=max(1, source.most // 3))
        run = eos.run(source.connector, source.given, until=source.most)

        eos.assert_exactly_once(whole_topics(run), run.source_records(), key="headers")

    @pytest.mark.parametrize("step", [*STARTUP, *TRANSACTION], ids=lambda step: step.value)
    def test_a_worker_killed_at_any_step_loses_and_repeats_nothing(
        self, eos: EosHarness, source: Source, step: TaskStep
    ) -> None:
        """Another worker continues from what was committed."""
        first = eos.create_run(source.connector, source.given)
        # At the second poll something is committed already, even of a short source.
        nth = 2 if step is TaskStep.POLL else 1
        victim = eos.zombies.task(step, task=0, nth=nth, worker=first.group)
        first.group.put(first.name, first.properties)
        victim.await_frozen()
        first.group.kill()
        victim.wake()

        run = eos.run(source.connector, first.properties, until=source.most)

        eos.assert_exactly_once(whole_topics(run), run.source_records(), key="headers")

    @pytest.mark.eos_zombie(at="all", nth=1)
    def test_a_zombie_adds_nothing_and_takes_nothing(self, eos: EosHarness, source: Source) -> None:
        """KIP-618: frozen at any step, replaced, woken."""
        run = eos.run(source.connector, source.given, until=source.most)

        eos.assert_exactly_once(run, run.source_records())


def _read_whole_and_in_part(driver: TaskDriver, source: Source) -> None:
    """Stop tasks at the end of their share, and long before it, as a worker mostly does."""
    by_partition(driver, source)
    for task_config in driver.task_configs(1):
        driver.stop_in_between(task_config, lambda: runtime().sleep(_WAIT))


def _in_fresh_process(driver: TaskDriver, source: Source) -> str:
    """How many records a task gives in a process that has read nothing yet; empty if none."""
    try:
        there = answers_in_subprocess(source.connector, source.texts, source.most, virtual=driver.virtual).records
    except pytest.fail.Exception:  # it cannot be asked; another test says why
        return ""
    return quantity(len(there), "record") if there else ""


def _problems(source: Source, returned: Iterable[Problem], method: str) -> list[Problem]:
    found = read_problems(returned, method)
    odd = [one for one in found if not isinstance(one, Problem)]
    assert not odd, f"`{method}` of {source.connector.__name__} gives {odd[0]!r}: it must give eosfw.errors.Problem"
    return found


def _place(record: SourceRecord) -> tuple[str, str]:
    return key_of(record.source_partition), key_of(record.source_offset)


def _flat(records: Mapping[str, list[SourceRecord]]) -> list[SourceRecord]:
    return [record for some in records.values() for record in some]


def _repeating(partition: str, records: Sequence[SourceRecord]) -> str | None:
    """Which source offset several records of a source partition have, with a remedy; None if there is none."""
    first, *more = Counter(key_of(record.source_offset) for record in records).most_common()
    if first[1] == 1:
        return None
    same = [record for record in records if key_of(record.source_offset) == first[0]]
    offsets, partitions = ({id(getattr(one, name)) for one in same} for name in ("source_offset", "source_partition"))
    if not same[0].source_offset:
        remedy = "give each record `source_partition` and `source_offset`"
    elif all(one == same[0] for one in same):
        remedy = "`poll` gives one record several times: it must go on behind what it has returned"
    elif len(offsets) < len(same):
        remedy = "they share one mapping, which is changed behind each of them: make a new one for each record"
    else:
        remedy = "where one place of a source gives several records, number them in the offset, and resume in between"
        if len(partitions) < len(same):
            remedy += "; they share one `source_partition`, which must not be changed behind them"
    others = sum(times > 1 for _, times in more)
    also = f", and {quantity(others, 'other offset')} {'repeats' if others == 1 else 'repeat'}" if others else ""
    return f"offsets repeat within source partition {partition}: {first[1]} records have {first[0]}{also}; {remedy}"
