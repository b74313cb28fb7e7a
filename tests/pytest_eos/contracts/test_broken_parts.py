"""Every part broken on purpose fails the assertion with the right explanation."""

from __future__ import annotations

import pytest
from tests.pytest_eos import broken

from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.verdict import failure_hints

pytest_plugins = ("pytester",)
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again

TEST = """\
import pytest
from tests.pytest_eos import broken, broken_offsets
from tests.pytest_eos.counter import CounterConnector

@pytest.mark.eos_zombie(at="{step}")
def test_it(eos):
    {use}
    run = eos.run({connector}, {{"until": 24}})
    eos.assert_exactly_once(run, run.source_records())
"""
CASES = {
    "a fencer that does not fence": (
        "send-offsets",
        "eos.use(fencer=broken.IdleFencer)",
        "CounterConnector",
        [
            "*is not exactly once: 4 duplicates, 0 missing, 16 unexpected*",
            "*duplicates:*",
            '*counter {"stream":"s1"} {"next":5}: 2 times*',
            "*@*by task counter-1 of generation 0, transaction 2 of eos-*, producer * epoch *",
            "*@*by task counter-0 of generation 1, transaction *",
        ],
    ),
    "a reader that shows aborted records": (
        "commit",
        "eos.use(isolation_reader=broken.ShowsAll)",
        "CounterConnector",
        [
            "* duplicate*, 0 missing, 0 unexpected*",
            "*aborted records became visible:*",
            "*@*by task counter-1 of generation 0, transaction 2*",
        ],
    ),
    "offsets written outside the transaction": (
        "commit",
        "eos.use(wrap_backend=broken_offsets.OffsetsAtOnce)",
        "CounterConnector",
        [
            "*0 duplicates, 4 missing*",
            "*missing, though the committed source offsets lie behind them:*",
            '*s1:4: source partition {"stream":"s1"}, source offset {"next":5}*',
            "*likely: source offsets are visible without their records: *",
        ],
    ),
    "offsets written before the commit": (
        "commit",
        "eos.use(wrap_backend=broken_offsets.OffsetsBefore)",
        "CounterConnector",
        [
            "*0 duplicates, 0 missing, 16 unexpected*",
            "*unexpected: no such record up to the committed source offsets*",
            "*likely: source offsets went back: *",
        ],
    ),
    "a connector whose offsets run ahead of its records": (
        "commit",
        "pass",
        "broken.Ahead",
        [
            "*missing, though*",
            '*s1:4: source partition {"stream":"s1"}, source offset {"next":6}*',
            f"*likely: {failure_hints.AHEAD}*",
        ],
    ),
    "a backend that commits behind every record": (
        "send-offsets",
        "eos.use(wrap_backend=broken.OwnCommits)",
        "CounterConnector",
        ["*is not exactly once: * duplicate*, 0 missing*", "*2 times*", "*by task counter-1 of generation 0*"],
    ),
    "a backend that takes a fencing for a success": (
        "send-offsets",
        "eos.use(wrap_backend=broken.Deaf)",
        "CounterConnector",
        ["task counter-1 of generation 0 says that it committed transaction 2, * nobody sees*"],
    ),
    "a connector that sends its records itself": (
        "send-offsets",
        "broken.OWN_PRODUCER[:] = [lambda: eos.backend.producer(None)]",
        "broken.Besides",
        ["*is not exactly once: * unexpected*"],
    ),
    "a connector that cannot be replayed": (
        "commit",
        "pass",
        "broken.Random",
        ["*the source is not replayable*", "*written, but not in the replay: *", "*in the replay, but not written: *"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_assertions_detect_every_broken_part(pytester, case):
    """A proof is worth what it refuses: each plugin here breaks one promise."""
    step, use, connector, lines = CASES[case]
    pytester.makepyfile(TEST.format(step=step, use=use, connector=connector))

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--eos-patience=20")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E{line}" if line.startswith("*") else line for line in lines])
    result.stdout.fnmatch_lines(["*- eos timeline -*", "leader*", "picture: *timeline.svg"])


def test_the_same_test_passes_where_nothing_is_broken(pytester):
    """So it is the broken part that fails it."""
    assert broken.IdleFencer
    pytester.makepyfile(TEST.format(step="send-offsets", use="pass", connector="CounterConnector"))

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["zombies: 1 raised, 1 fenced, 0 stopped by themselves"])
