"""A contract fails for a part that breaks one of its promises, and names the promise."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

import pyarrow as pa
import pytest
import starlette.applications  # noqa: F401 - once: of two copies in one process, routes of one do not match in the other
from tests.pytest_eos.contracts.contract_tests import write_contract_test
from tests.pytest_eos.counter import CounterConnector, CounterTask, connector

from pytest_eos.contracts import Source, SourceConnectorContract
from pytest_eos.environment.config.installed_plugins import installed_plugins

pytest_plugins = ("pytester",)
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again
pa.array([1])  # it loads numpy, which no process can load again once a test inside a test has forgotten it
CONNECTOR, STORE, FENCER = "SourceConnectorContract", "OffsetStoreContract", "FencerContract"
READER, BACKEND = "IsolationReaderContract", "BackendContract"
MEMBERSHIP = "MembershipContract"
PROVIDER, EXTENSION = "ConfigProviderContract", "RestExtensionContract"
REPORTER, POLICY = "MetricsReporterContract", "ClientConfigOverridePolicyContract"
CONVERTER, HEADERS = "ConverterContract", "HeaderConverterContract"
TRANSFORMATION, PREDICATE = "TransformationContract", "PredicateContract"
NOT_APART = "Error: `partition_key` tells source partitions not apart by {}"
OFFSETS = [
    (
        "broken_offsets.OffsetsAtOnce",
        "source_offsets_commit_in",
        "source offsets were written outside the transaction: at once",
    ),
    (
        "broken_offsets.OffsetsAtOnce",
        "source_offsets_are_taken_back",
        "source offsets of an aborted transaction are visible",
    ),
    (
        "broken_offsets.OffsetsBefore",
        "source_offsets_of_a_zombie",
        "source offsets of a zombie are visible: written outside its tr*",
    ),
    (
        "broken_offsets.OffsetsAfter",
        "source_offsets_commit_in",
        "source offsets were flushed, yet are not in the log: they were k*",
    ),
    (
        "broken_offsets.OffsetsAtOnce",
        "group_are_taken_back",
        "a group's offsets of an aborted transaction count: written outside *",
    ),
    (
        "broken_offsets.OffsetsBefore",
        "group_offsets_sent_by_a_zombie",
        "a group's offsets that a zombie sent count: written outside its*",
    ),
    (
        "broken_offsets.OffsetsAfter",
        "group_offsets_in_an_open",
        "a group's offsets are told while their transaction is open: *",
    ),
    (
        "broken_offsets.NoGroupOffsets",
        "group_commit_with_their",
        "a group's offsets were not committed with their transaction",
    ),
]
"""Which part, the test that finds it, the first line that it says."""
RECORD_PARTS = [
    (CONVERTER, "converter", "Texts", "become_bytes", "a int became a str"),
    (CONVERTER, "converter", "TakesNothing", "become_bytes", "it takes none of the values: let the fixture give*"),
    (CONVERTER, "converter", "ShowsValues", "become_bytes", "the message of a refusal shows the value: -30303*"),
    (CONVERTER, "converter", "RaisesOthers", "become_bytes", "it raised KeyError: what cannot be taken is refused*"),
    (CONVERTER, "converter", "NullIsFalse", "a_null_becomes", "a null became a int"),
    (CONVERTER, "converter", "Counts", "the_same_value", "the same value became other bytes the second time"),
    (CONVERTER, "converter", "OwnInstance", "the_same_value", "the same value became other bytes by another instance*"),
    (CONVERTER, "converter", "NamelessFields", "refusal_of_a_field", "the refusal of a field does not name it: it*"),
    (CONVERTER, "converter", "Empties", "changes_no_value", "it changed the dict that it was given"),
    (CONVERTER, "converter", "OtherColumns", "columns_become", "a list of INT8 became other bytes than its values*"),
    (CONVERTER, "converter", "NoColumns", "columns_become", "`from_connect_columns` converts none of the columns*"),
    (CONVERTER, "converter", "ReadsOthers", "is_read_back", "a INT64 was not read back as it was written"),
    (CONVERTER, "converter", "ShowsBytes", "bytes_of_others", "the message of a refusal shows the value: *canary*"),
    (CONVERTER, "converter", "ClosesOnce", "closed_repeatedly", "*it is closed*"),
    (CONVERTER, "converter", "TakesAll", "wrong_properties", "it takes eos.no.such.property=x, which must be refused"),
    (
        HEADERS,
        "header_converter",
        "NamelessHeaders",
        "refusal_of_a_header",
        "the refusal of a header does not name*",
    ),
    (HEADERS, "header_converter", "ForgetsTypes", "is_read_back", "what was read of a int becomes other bytes than*"),
    (
        TRANSFORMATION,
        "transformation",
        "OtherOffsets",
        "keeps_its_place",
        "the record has another source*",
    ),
    (TRANSFORMATION, "transformation", "OtherTypes", "fits_its_schema", "the value does not fit its schema: it is of*"),
    (TRANSFORMATION, "transformation", "ChangesInside", "changes_no_record", "it changed the record that it was given"),
    (
        TRANSFORMATION,
        "transformation",
        "EachOther",
        "the_same_record",
        "the same record became another the*",
    ),
    (
        TRANSFORMATION,
        "transformation",
        "BatchKeepsAll",
        "a_batch_becomes",
        "a batch became other records than*",
    ),
    (TRANSFORMATION, "transformation", "Lengths", "changed_dropped", "a record became a str"),
    (TRANSFORMATION, "transformation", "ShowsTexts", "changed_dropped", "the message of a refusal shows the value: *"),
    (PREDICATE, "predicate", "Truthy", "is_a_boolean", "the answer is a dict"),
    (PREDICATE, "predicate", "FirstDecides", "a_batch_gets", "a batch got other answers than its records by them*"),
    (PREDICATE, "predicate", "Alternates", "the_same_answer", "the same record got another answer the second time"),
]
"""Contract, which part, the class, the test that finds it, the first line that it says."""
CASES = [
    # What breaks a source connector's other promises is in test_first_lines.py.
    # (contract, which part, what is put there, the test that finds it, what is said)
    (CONNECTOR, "source", "bad.Behind", "killed_at_any_step*poll", "*duplicates*"),
    (
        CONNECTOR,
        "source",
        "sources.AsksInVain",
        "no_other_tasks_while_its_source",
        "Error: it asked 3 times for other tasks in 3 looks at a source that stands still",
    ),
    (
        CONNECTOR,
        "source",
        "sources.WatchesOn",
        "watch_ends_when_it_is_stopped",
        "*a stopped watch of the source left behind: thread 'poll-tables'*",
    ),
    (
        CONNECTOR,
        "source",
        "sources.RefusesOwn",
        "offsets_can_be_altered",
        "`alter_offsets` refuses {'next': 1} of {'stream': 's0'}, which a task has stated: KeyError: 'position'*",
    ),
    (
        CONNECTOR,
        "source",
        "sources.NeverForgets",
        "offsets_can_be_altered",
        "`alter_offsets` refuses to forget {'stream': 's0'}, which a task has stated: TypeError: *",
    ),
    (
        CONNECTOR,
        "source",
        "sources.TakesAnyOffset",
        "offsets_can_be_altered",
        "`alter_offsets` takes the offset {'eos.no.such.offset': 'nonsense'} of {'stream': 's0'}, which no task *",
    ),
    (STORE, "store", "bad.SharedKeys", "connectors_do_not_see_each_other", "*they share one topic*"),
    (
        STORE,
        "store",
        "bad.StartsFromZero",
        "a_damaged_value_under_an_own_key",
        "Starting from zero would repeat every*",
    ),
    (STORE, "store", "bad.NeverForgets", "an_offset_can_be_forgotten", "*None is a tombstone*"),
    (
        FENCER,
        "fencer",
        "broken.IdleFencer()",
        "an_earlier_holder_cannot_commit",
        "what a zombie still sends reaches no *",
    ),
    (STORE, "store", "bad.ValuesAlone", "other_partitions_have_other_keys", NOT_APART.format("their keys")),
    (STORE, "store", "bad.TextsAlone", "other_partitions_have_other_keys", NOT_APART.format("the types of their *")),
    (
        STORE,
        "store",
        "bad.KeysAsTheyCome",
        "equal_partitions_have_one_record_key",
        "Error: the record key hangs on the order of a source partition's keys",
    ),
    (
        STORE,
        "store",
        "bad.FirstBatch",
        "offsets_are_read_from_every_batch",
        "Error: offsets of a later batch were not read",
    ),
    (
        STORE,
        "store",
        "bad.FirstWins",
        "offsets_are_read_from_every_batch",
        "Error: the offset of an earlier batch was kept, though",
    ),
    (
        FENCER,
        "fencer",
        "bad.EightIds.connect(backend, {}, None)",
        "many_ids_are_fenced_in_one",
        "Error: of 12 ids in one call these, by number, were not fenced, though it said so: [[]9, 10, 11, 12]",
    ),
    (
        FENCER,
        "fencer",
        "bad.HidesErrors.connect(backend, {}, None)",
        "an_id_that_cannot_be_fenced_is_never",
        "Error: the backend refused to fence an id, `fence` answered None for it, and its holder could still commit: *",
    ),
    (
        FENCER,
        "fencer",
        "bad.OnceForAll.connect(backend, {}, None)",
        "an_id_can_be_fenced_repeatedly",
        "Error: an id was fenced 1 times, then its next holder was not",
    ),
    (
        READER,
        "reader",
        "bad.StopsShort",
        "a_read_that_an_open_transaction_holds_up_is_never",
        "Error: a read ended, without a word, at an open transaction: it must raise",
    ),
    (
        READER,
        "reader",
        "bad.GapsInTheWay",
        "a_read_that_an_open_transaction_holds_up_is_never",
        "Error: offsets of an open transaction are called a gap",
    ),
    (READER, "reader", "broken.ShowsAll", "aborted_records_are_hidden_from", "*an aborted record is shown*"),
    (READER, "reader", "bad.FarSighted", "records_behind_an_open_transaction_are", "*beyond the last stable offset*"),
    (
        READER,
        "reader",
        "bad.Silent",
        "every_offset_is_a_record_or_a_reported",
        "*offsets are neither shown nor accounted for*",
    ),
    (
        READER,
        "reader",
        "bad.TellsArrowMore",
        "arrow_is_given_what_a_read_shows",
        "*Spark would be shown other records*",
    ),
    (BACKEND, "backend", "bad.NeverAborts", "an_abort_discards_every_record", "*an aborted record is visible*"),
    (
        BACKEND,
        "backend",
        "bad.Lenient",
        "a_call_out_of_order_raises",
        "*begin_transaction out of order must raise Ill*",
    ),
    (BACKEND, "backend", "bad.OtherPartitioner", "keyed_records_lie_where_javas", "*equal keys meet in equal partit*"),
    (BACKEND, "backend", "bad.Impostors", "a_new_producer_of_an_id_fences", "*what comes late reaches no reader*"),
    (PROVIDER, "provider", "plugins.TellsAll", "no_value_comes_that_was", "*does not ask for it cannot hide*"),
    (PROVIDER, "provider", "plugins.LeavesOut", "a_lookup_without_a_value", "*text of the reference as its password*"),
    (PROVIDER, "provider", "plugins.Talkative", "a_lookup_without_a_value", "*text of the reference as its password*"),
    (EXTENSION, "extension", "plugins.Nothing", "an_extension_adds_routes", "it added neither a route nor middleware"),
    (EXTENSION, "extension", "plugins.Fails", "every_route_can_be_reached", "GET /ping answers 500"),
    (EXTENSION, "extension", "plugins.Stamps", "what_was_there_answers", "*and other workers, rely on it*"),
    (
        REPORTER,
        "reporter",
        "plugins.FirstOnly",
        "newest_values",
        "the value 8 of source-record-write-total did not arrive",
    ),
    (REPORTER, "reporter", "plugins.WholeNumbers", "odd_values", "*cannot convert float infinity to integer*"),
    (POLICY, "policy", "plugins.LetsAll", "is_refused_with_a_reason", "it lets through what it should refuse: acks"),
    (POLICY, "policy", "plugins.ShowsIt", "is_refused_with_a_reason", "the reason shows the value of acks"),
    (POLICY, "policy", "plugins.OnceOnly", "the_same_each_time", "*asked about again whenever its task starts*"),
    (REPORTER, "reporter", "plugins.Takes", "changes_no_metric", "it changed what it was given"),
    *((contract, part, f"parts.{what}", test, message) for contract, part, what, test, message in RECORD_PARTS),
    *((BACKEND, "backend", what, test, f"Error: {message}") for what, test, message in OFFSETS),
    (MEMBERSHIP, "backend", "bad.YesSayer", "a_member_that_stops_polling_is", "*its ownership is not confirmed then*"),
    (MEMBERSHIP, "backend", "bad.Nameless", "the_group_shows_client_ids", "*are known by the client ids that they*"),
    (BACKEND, "backend", "bad.Nobody", "the_transaction_that_blocks_a", "*so that an operator knows whom to fence*"),
]


def run(pytester, contract, *tests, **parts):
    """Run these tests of a contract; `a*b` is the test whose name has both."""
    write_contract_test(pytester, contract, **parts)
    chosen = " or ".join(f"({' and '.join(test.split('*'))})" for test in tests)
    # Members of a group have threads of their own, which virtual time does not know.
    clock = ["--eos-clock=real"] if contract == MEMBERSHIP else []
    return pytester.runpytest_inprocess("-pno:cacheprovider", *clock, "-k", chosen)


@pytest.mark.parametrize(
    ("contract", "part", "what", "test", "message"), CASES, ids=[f"{case[2]}-{case[3]}" for case in CASES]
)
def test_contracts_detect_and_name_a_broken_promise(pytester, contract, part, what, test, message):
    """A contract is worth what it refuses; the section `broken promise` says what for."""
    result = run(pytester, contract, test, **{part: what})

    assert result.parseoutcomes().get("failed", 0) >= 1
    result.stdout.fnmatch_lines(["*- broken promise -*"])
    result.stdout.fnmatch_lines([f"*{message}*"])
    if message.startswith("Error: "):  # what is said first is the cause
        first = next(line for line in result.outlines if line.startswith("E "))
        assert fnmatchcase(first, f"E *{message}*"), first


@pytest.mark.parametrize("contract", sorted({case[0] for case in CASES} - {FENCER}))
def test_the_same_promises_are_kept_by_sound_parts(pytester, contract):
    """So it is the broken part that is found out."""
    result = run(pytester, contract, *sorted({case[3] for case in CASES if case[0] == contract}))

    assert set(result.parseoutcomes()) <= {"passed", "deselected", "warnings"}


def test_a_connector_that_watches_a_source_that_stands_still_keeps_its_promises(pytester):
    """PLG-05: looking is no fault."""
    tests = ("no_other_tasks_while_its_source", "watch_ends_when_it_is_stopped")
    result = run(pytester, CONNECTOR, *tests, source="sources.LooksAround")

    assert result.parseoutcomes().get("passed", 0) == 2


def test_a_connector_that_judges_altered_offsets_keeps_its_promises(pytester):
    """It takes what its tasks state, and None, and refuses what they could not start from."""
    result = run(pytester, CONNECTOR, "offsets_can_be_altered", source="sources.JudgesOffsets")

    assert result.parseoutcomes().get("passed", 0) == 1


def test_a_capability_that_does_not_exist_is_refused_with_the_nearest_name(pytester):
    """Misspelt, it would be lacking everywhere, so the test would never run."""
    pytester.makepyfile(
        """
        import pytest
        from pytest_eos.contracts import BackendContract

        class TestIt(BackendContract):
            @pytest.fixture
            def backend(self, eos):
                return eos.backend

            @pytest.mark.eos_needs("batch_header")
            def test_it(self): pass
        """
    )

    result = pytester.runpytest_inprocess("-pno:cacheprovider", "-k", "test_it")

    result.stdout.fnmatch_lines(["*there is no capability 'batch_header'; did you mean 'batch_headers'?*"])


@pytest.mark.parametrize(
    ("contract", "fixture"),
    [
        (CONNECTOR, "source"),
        (STORE, "store"),
        (FENCER, "backend"),
        (READER, "reader_class"),
        (BACKEND, "backend"),
        (MEMBERSHIP, "backend"),
        (CONVERTER, "converted"),
        (HEADERS, "converted_headers"),
        (TRANSFORMATION, "transformed"),
        (PREDICATE, "chosen"),
    ],
)
def test_a_contract_without_its_fixture_says_which_to_write(pytester, contract, fixture):
    """The first error of an author must be the instruction."""
    pytester.makepyfile(f"from pytest_eos import contracts\nclass TestMine(contracts.{contract}): pass")

    result = pytester.runpytest_inprocess("-pno:cacheprovider", "-x")

    result.stdout.fnmatch_lines([f"*TestMine: define a fixture `{fixture}` that returns *"])


class TestCounter(SourceConnectorContract):
    """The connector that the broken ones above are made of."""

    @pytest.fixture
    def source(self):
        return Source(CounterConnector, {"streams": 3, "until": 12, "batch": 3})


@connector()
class ByStream(CounterTask):
    """Each stream has a topic of its own, whose name begins with the property `topic`."""

    def record(self, stream, number):
        return replace(super().record(stream, number), topic=f"{self.topic}-{stream}")


class TestByStream(SourceConnectorContract):
    """A connector that writes several topics, and none that its properties name."""

    @pytest.fixture
    def source(self):
        return Source(ByStream, {"streams": 3, "until": 12, "batch": 3})
