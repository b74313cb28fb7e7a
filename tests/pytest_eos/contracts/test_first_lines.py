"""The first line of a failed contract names the cause, so that its author need not read on."""

from __future__ import annotations

import pytest
from tests.pytest_eos.contracts.contract_tests import write_contract_test

from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.diagnostics.first_cause import first_line

pytest_plugins = ("pytester",)
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again
CASES = [
    # (what is broken, the test that finds it, what its first line says)
    ("bad.Undeclared", "it_says", "`exactly_once_support` of Undeclared answers None: * ExactlyOnceSupport.SUPPORTED"),
    ("sources.Refusing", "it_says", "it refuses the properties of the fixture `source`: must be a multiple of 7"),
    (
        "sources.Distrusting",
        "check_finds",
        "`check` of Distrusting finds fault with the source of this test: streams: there is no stream s0",
    ),
    ("sources.Chatty", "check_finds", "`check` of Chatty gives 'all is well': it must give eosfw.errors.Problem"),
    (
        "sources.NothingChecked",
        "check_finds",
        "`check` returned a NoneType; it must return a list of eosfw.errors.Prob*",
    ),
    (
        "sources.TakesOne",
        "check_finds",
        "`check` of TakesOne changes the source, which it must only look at: number 0 is b's:1' at *, not b's:0' at *",
    ),
    ("sources.NoProblems", "it_says", "`problems` returned a NoneType; it must return a list of eosfw.errors.Problem*"),
    ("sources.NoShares", "same_source", "`task_configs` returned a NoneType; it must return a list of mappings, one *"),
    ("sources.NeverOpened", "same_source", "'no table contract'"),
    ("sources.InSeconds", "timestamps", "*1970, 1700000000 for example: * milliseconds * seem to be seconds"),
    ("sources.SetShares", "another_process", "another process splits the work in another way, *: number 0 is *column*"),
    ("sources.Undocumented", "documented", "properties without a word on their purpose: until, width"),
    ("sources.OwnTasksMax", "documented", "properties that are the framework's own: tasks.max"),
    ("bad.Greedy", "no_more_tasks", "`task_configs` makes 3 tasks, though tasks.max is 1"),
    ("bad.NumberedShares", "survive", "a share holds what is no text, number: 0, number: 1, number: 2: texts alone*"),
    ("sources.ChangingShares", "survive", "asked twice, it splits its work in two ways: number 0 is {'streams': *"),
    (
        "bad.TwoOwners",
        "no_source_partition",
        '*: {"stream":"s0"} belongs to tasks [[]0, 1[]]; *`task_configs` must*',
    ),
    ("broken.Random", "same_source", "read again, the source gives other records, *: number 0 is b*"),
    (
        "sources.SetOrder",
        "another_process",
        "*another process gets the same records in another order: * a set, * has the value * here, *",
    ),
    (
        "bad.Hashed",
        "another_process",
        "*another process gets other records: *`hash`* Record 0 has the value * here, * there",
    ),
    (
        "sources.LocalTimes",
        "another_process",
        "*another process gets other records: *, the time zone, * has the source_offset * here, * there",
    ),
    ("bad.Coarse", "offset_of_its_own", 'offsets repeat within source partition *: 4 records have {"next":0}, and 2 *'),
    ("sources.Stuttering", "offset_of_its_own", "offsets repeat within source partition *: 2 records have *"),
    ("bad.Behind", "resumes", "resumed behind {'next': 0} of *: number 0 is b's0:0' at *, not b's0:1' at *"),
    ("broken.Ahead", "resumes", "resumed behind {'next': 2} of *, it does not go on with the next record: *"),
    (
        "sources.Forgetful",
        "resumes",
        "resumed behind {'next': 1} of *: number 0 is b's0:0' at *, not b's0:1' at *",
    ),
    (
        "sources.Skipping",
        "resumes",
        "resumed behind {'next': 1} of *: number 0 is b's0:2' at *, not b's0:1' at *",
    ),
    ("sources.Generating", "same_source", "poll of task contract-0 returned a generator; it must return a list of *"),
    ("sources.Careless", "same_source", "the connection was never opened"),
    (
        "sources.Unacknowledged",
        "writes_every_record",
        "the queue does not know this session (in commit, *): the commit stands, the worker logs the error *",
    ),
    (
        "sources.OldCallback",
        "writes_every_record",
        "OldCallback.commit_record() takes 2 positional arguments but 3 were given: the commit stands, *",
    ),
]


@pytest.mark.parametrize(("connector", "test", "message"), CASES, ids=[case[0] for case in CASES])
def test_the_first_line_of_a_broken_promise_names_its_cause(pytester, connector, test, message):
    """A planted bug each; without the kind of the error, which pytest puts before it."""
    write_contract_test(pytester, "SourceConnectorContract", source=connector)

    found = pytester.inline_run("-pno:cacheprovider", "-k", test, "--tb=short")

    failed = found.getfailures()
    assert failed
    assert "broken promise" in dict(failed[0].sections)
    pytest.LineMatcher([first_line(failed[0]).partition("Error: ")[2] or first_line(failed[0])]).fnmatch_lines(
        [message]
    )
