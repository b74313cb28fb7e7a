"""The contract of connectors finds what goes on elsewhere than behind what was committed, and says where."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest
from tests.pytest_eos import blocking, broken_resumption
from tests.pytest_eos.contracts.contract_tests import write_contract_test
from tests.pytest_eos.counter import CounterConnector

from eosfw.concurrency import ThreadRuntime
from pytest_eos.contracts.connectors import resumption
from pytest_eos.contracts.connectors.source import Source
from pytest_eos.contracts.connectors.task_driver import TaskDriver
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.diagnostics.first_cause import first_line
from pytest_eos.virtual import VirtualRuntime

pytest_plugins = ("pytester",)
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again
RESUMES, GOES_ON, COUNTS = "resumes_right_behind", "transactions_of_other_tasks", "for_any_number_of_tasks"
CASES = [
    # (what is broken, the test that finds it, what its first line says)
    ("StartsOver", RESUMES, "resumed behind {'next': 12} of *: number 0 is b's0:0' *; it has given that record *"),
    ("EndsEarly", RESUMES, "resumed behind {'next': 1} of *: number 7 is b's0:8' *, not nothing; *too early*"),
    ("LosesTies", RESUMES, "resumed behind {'next': 8} of *: number 0 is b's0:9' *, not b's0:8' at {'next': 9}"),
    (
        "AsksForText",
        RESUMES,
        'resumed *; the task asked `context.offset` for *{"shard":"0"} and 2 more, not for {"shard":0}',
    ),
    ("OwnType", RESUMES, "'int' object has no attribute 'number'"),
    (
        "Greatest",
        GOES_ON,
        'source partition {"stream":"s1"} does not go on *: number 0 is *s1:4* at *, not *s1:0* at *',
    ),
    ("BatchAhead", GOES_ON, "* number 0 is b's0:5' *, not b's0:4' *. Committed was {\"next\":5} of *"),
    ("BatchAlone", GOES_ON, "* number 0 is b's0:1' *, not b's0:4' *; the context's `record_offsets` was False, *"),
    ("OwnPartitions", GOES_ON, "*tasks.max was 3, then 1"),
    (
        "OwnPartitions",
        COUNTS,
        '* {"stream":"s1","task":0} is read with tasks.max=1, and by no task with 2, which reads *"task":1}: a *part *',
    ),
    (
        "Remainder",
        COUNTS,
        'source partition {"stream":"s2"} is read with tasks.max=1, and by no task with 2: `task_configs` must give *',
    ),
    (
        "Stamped",
        "same_source_gives",
        "* number 0, b's0:0' at {'next': 1}, has the timestamp *, not *: a timestamp must come from the source, *",
    ),
    (
        "KeepsFiles",
        "belongs_to_two or same_source_gives",
        "*gives no record, though one of an earlier test gave 12: it keeps its place somewhere else, say in a file, *",
    ),
    (
        "OneTaskOnly",
        "no_more_tasks",
        "*with tasks.max=2: ValueError: tasks.max must be 1 *: it is a limit, *",
    ),
    ("OneMapping", "offset_of_its_own", "offsets repeat *; they share one mapping, which is changed behind each of *"),
    (
        "SaysMore",
        "same_source_gives",
        "the source gave no record for 5 s, yet its `at_end` says *. task contract-0: * gave 36 records, *said False*",
    ),
    (
        "OnePartition",
        "offset_of_its_own",
        "offsets repeat *: 3 records have *, and 11 other offsets repeat; *share one `source_partition`, which must *",
    ),
    ("Nowhere", "offset_of_its_own", "offsets repeat *; give each record `source_partition` and `source_offset`"),
    ("Nowhere", "belongs_to_two", "*: {} belongs to tasks [[]0, 1, 2[]]; each record needs a `source_partition`"),
]
CHECKS = f"{RESUMES} or {GOES_ON} or {COUNTS} or same_source_gives or another_process or offset_of_its_own"


def run(pytester, connector, tests):
    """Run these tests of the contract with a connector of `broken_resumption`."""
    write_contract_test(pytester, "SourceConnectorContract", source=f"resuming.{connector}")
    return pytester.inline_run("-pno:cacheprovider", "-k", tests, "--tb=short")


def test_a_source_that_comes_to_no_end_fails_one_test(pytester):
    """Each other test would wait for its end, say in real time for a thread, and say less."""
    passed, skipped, failed = run(pytester, "SaysMore", CHECKS).listoutcomes()

    assert [one.head_line for one in failed] == ["TestIt.test_the_same_source_gives_the_same_records"]
    assert (passed, len(skipped)) == ([], 6)


@pytest.mark.parametrize(("connector", "test", "message"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_what_is_resumed_elsewhere_is_found_without_a_worker(pytester, connector, test, message):
    """A planted bug each, and the line that its author reads first."""
    failed = run(pytester, connector, test).getfailures()

    assert failed
    assert fnmatch(first_line(failed[0]), f"*{message}")


@pytest.mark.parametrize("connector", ["Batches", "Interrupted", "AnyStreamFirst"])
def test_sound_connectors_of_unusual_shape_are_not_refused(pytester, connector):
    """Batches; polls that fail, the last one as well; source partitions in any order."""
    passed, skipped, failed = run(pytester, connector, CHECKS).listoutcomes()

    assert (len(passed), skipped, failed) == (7, [], [])


def test_a_source_with_a_little_more_than_what_is_read_of_it_is_not_refused():
    """Whoever resumes comes further than whoever reads from the beginning, up to the same number of records."""
    source = Source(CounterConnector, {"streams": 3, "until": 7}, most=20)
    driver = TaskDriver(source.connector(), source.texts, VirtualRuntime())
    whole = resumption.by_partition(driver, source)

    ends = [resumption.resumed_elsewhere(driver, source, one, 0, ended=False) for one in whole.values()]

    assert ends == [None, None, None]
    assert [*resumption.other_tasks_resume_elsewhere(driver, source)] == []


def test_a_source_that_never_says_that_it_ends_is_polled_ever_more_seldom():
    """Virtual time costs nothing, but a poll that waits for more takes real time."""
    source = Source(blocking.UnknownEnd, {"streams": 1, "until": 8})
    driver = TaskDriver(source.connector(), source.texts, VirtualRuntime())

    assert len(resumption.by_partition(driver, source)) == 1
    assert driver.calls.tasks[-1].polls < 40


def test_a_slow_source_is_resumed_from_a_sample_of_its_offsets_alone(monkeypatch):
    """And a fast one from each of them."""
    everywhere = list(resumption.places(100, ThreadRuntime()))
    monkeypatch.setattr(resumption, "_MORE", -1.0)

    assert sorted(everywhere) == list(range(100))
    assert list(resumption.places(100, ThreadRuntime())) == resumption.sample(100)
    assert broken_resumption.LosesTies.task.TIE not in resumption.sample(100)
