"""pytest-eos is a well-behaved pytest plugin."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import pytest
from tests.child_pytest import WITHOUT_PLUGINS
from tests.pytest_eos import counter

import pytest_eos
from eosfw import __version__
from eosfw.observe import TaskStep
from pytest_eos import fixtures
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.config.markers import zombie_specs
from pytest_eos.runs.queries import runs, spark

pytest_plugins = ("pytester",)
QUIET = ("-p", "no:cacheprovider")
OF_PACKAGE = ("eos", "eos_cluster", "faults", "zombies")
HEAD = "import pytest\nfrom tests.pytest_eos.counter import CounterConnector\n"
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again


def run(pytester, test, *arguments):
    """Run a test file inside this process."""
    pytester.makepyfile(HEAD + dedent(test))
    return pytester.runpytest_inprocess(*QUIET, *arguments)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("eos_zombie(at='comit')", "*no step 'comit' to freeze at; did you mean 'commit'?*"),
        ("eos_zombie(at='fenced')", "*no step 'fenced' to freeze at*There are: request-fencing*"),
        ("eos_zombie(step='commit')", "*write @pytest.mark.eos_zombie(at=STEP*unknown: step*"),
        ("eos_zombie(at='batch:comit')", "*a micro-batch has no step 'batch:comit'*; did you mean 'batch:commit'?*"),
        ("eos_zombie(at='batch', how='kil')", "*eos_zombie has no how='kil'; did you mean 'kill'?*"),
        ("eos_zombie(at='batch:read', who='exekutor')", "*has no who='exekutor'; did you mean 'executor'?*"),
        ("eos_zombie(at='commit', who='driver')", "*who='driver' is for steps of a micro-batch, not for commit*"),
        ("eos_backend('memry')", "*no backend 'memry' is installed; did you mean 'memory'?*"),
        ("eos_backend(name='memory')", "*write @pytest.mark.eos_backend(NAME, ..., needs=*"),
        ("eos_backend(['memory'])", "*write @pytest.mark.eos_backend(NAME, ..., needs=*"),
        ("eos_backend(needs='transactions')", "*write @pytest.mark.eos_backend(NAME, ..., needs=*"),
        ("eos_zombi(at='commit')", "*there is no marker 'eos_zombi'; did you mean 'eos_zombie'?*"),
        ("eos_possessed_by_demons", "*there is no marker 'eos_possessed_by_demons'. There are: *eos_zombie*"),
        ("eos_clock('lunar')", "*write @pytest.mark.eos_clock(CLOCK)*auto,*"),
        ("eos_clock", "*write @pytest.mark.eos_clock(CLOCK)*"),
        ("eos_cluster(security='sasl-ssl')", "*no security='sasl-ssl'; did you mean 'sasl_ssl'?*"),
        ("eos_cluster('ssl')", "*write @pytest.mark.eos_cluster(security=PROTOCOL, rights=*"),
        ("eos_cluster(security='ssl', rights={})", "*rights are those of users*"),
        ("eos_cluster(right={})", "*write @pytest.mark.eos_cluster(security=PROTOCOL, rights=*"),
        ("eos_cluster(rights='alice')", "*write rights={'alice': ?'Write on topic orders'?}, not 'alice'*"),
        ("eos_cluster(rights={'a': 'Write on topic t'})", "*, not {'a': 'Write on topic t'}*"),
        ("eos_cluster(rights={'a b': ()})", "*'a b' has more than letters*"),
        ("eos_cluster(rights={'a': ['Write']})", "*'Write' is no right*"),
    ],
)
def test_a_misspelt_marker_is_refused_with_the_nearest_name(pytester, marker, message):
    """ACL-15, SEC-28, bad input: an unknown step, right or marker, of which pytest only warns: no zombie would rise."""
    ignored = "-Wignore::pytest.PytestUnknownMarkWarning"  # as in a project that does not make warnings errors

    result = run(pytester, f"@pytest.mark.{marker}\ndef test_it(eos): pass", ignored)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_a_marker_that_stands_there_twice_is_refused(pytester):
    """Bad input: pytest hands over the last one, so the other would raise no zombie."""
    twice = "@pytest.mark.eos_zombie(at='commit')\n@pytest.mark.eos_zombie(at='poll')\n"

    result = run(pytester, f"{twice}def test_it(eos): eos.run(CounterConnector)")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*eos_zombie stands there twice*"])


def test_a_marker_that_does_nothing_where_it_stands_fails_the_test(pytester):
    """Bad input: pytest generates no tests of `unittest`, and none by what stands at a parameter."""
    test = """
        import unittest

        class TestIt(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def harness(self, eos):
                pass

            @pytest.mark.eos_zombie(at="commit")
            def test_zombie(self): pass

            @pytest.mark.eos_simulation(seeds=2)
            def test_simulation(self): pass

            @pytest.mark.eos_backend("confluent")
            def test_backend(self): pass

            @pytest.mark.eos_zombi(at="commit")
            def test_misspelt(self): pass

            @pytest.mark.eos_clock("virtual")
            def test_right(self): pass

        @pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.eos_zombie(at="commit"))])
        def test_parameter(eos, n): eos.run(CounterConnector)
    """
    result = run(pytester, test, "-Wignore::pytest.PytestUnknownMarkWarning")

    result.assert_outcomes(errors=5, passed=1)
    result.stdout.fnmatch_lines_random(
        [
            "*test_zombie: eos_zombie raises no zombie here: put it at a function*",
            "*test_simulation: eos_simulation simulates nothing here*",
            "*test_backend: eos_backend chooses no backend here*",
            "*test_misspelt: there is no marker 'eos_zombi'; did you mean 'eos_zombie'?*",
            "*test_parameter?1?: eos_zombie raises no zombie here*",
        ]
    )


def test_a_zombie_rises_at_its_second_batch_or_at_what_is_done_once():
    """A committer keeps its producer from batch to batch: it fences and reads its token before the first one only."""
    specs = zombie_specs(pytest.mark.eos_zombie(at="batch").mark, "here")

    assert {spec.step for spec in specs if spec.nth == 1} == {TaskStep.FENCE_BATCH, TaskStep.READ_TOKEN}
    assert {spec.nth for spec in specs} == {1, 2}
    assert zombie_specs(pytest.mark.eos_zombie(at="batch:fence", nth=3).mark, "here")[0].nth == 3


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        (pytest.mark.eos_zombie(at="commit", nth=0), "nth counts from 1, so it cannot be 0"),
        (pytest.mark.eos_zombie(at="commit", nth="2"), "nth counts from 1, so it cannot be '2'"),
        (pytest.mark.eos_zombie(at=[]), "names no step, so its test would be skipped"),
    ],
)
def test_a_zombie_that_could_never_rise_is_refused(mark, message):
    with pytest.raises(pytest.UsageError, match=message):
        zombie_specs(mark.mark, "here")


def test_a_connector_for_a_run_that_is_over_is_refused(eos):
    """Bad input: a worker that was stopped starts no task, so the test would wait for it in vain."""
    run = eos.run(counter.CounterConnector, {"until": "2"})

    with pytest.raises(pytest.UsageError, match="it starts no task of connector counter: use another worker, or put"):
        run.group.put(run.name, run.properties)


def test_another_plugins_similar_marker_is_left_alone(pytester):
    """It is registered, so it is no typo."""
    pytester.makeini("[pytest]\nmarkers = eos_of_ours: slow ones\n")

    run(pytester, "@pytest.mark.eos_of_ours\ndef test_it(): pass").assert_outcomes(passed=1)


def test_a_misspelt_backend_on_the_command_line_is_refused(pytester):
    """Bad input: the same for an option."""
    result = run(pytester, "def test_it(eos): pass", "--eos-backend=memory,confluence")

    result.stdout.fnmatch_lines(["*no backend 'confluence' is installed; did you mean 'confluent'?*"])


def test_a_zombie_that_never_rose_fails_the_test(pytester):
    """What never happened proves nothing."""
    result = run(
        pytester,
        """
    def test_gate_never_reached(eos, zombies):
        zombies.task("commit", nth=1000)
        eos.run(CounterConnector)

    def test_never_woken(eos, zombies):
        zombie = zombies.task("commit")
        run = eos.create_run(CounterConnector)
        run.group.put(run.name, run.properties)
        zombie.await_frozen()

    @pytest.mark.eos_zombie(at="poll", nth=1000)
    def test_marker_never_reached(eos):
        eos.run(CounterConnector)

    @pytest.mark.eos_zombie(at="poll")
    def test_no_run(eos):
        pass
    """,
    )

    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            "*the zombie never rose: no task came by for the 1000. time*before commit*",
            "*the zombie was never woken: *before commit* stood frozen until the end of the test.",
            "*the zombie never rose: *before poll*",
            "*the zombie at poll never rose: the test called neither `eos.run` nor `eos.run_pipeline`.",
        ]
    )


def test_what_would_freeze_or_await_nothing_is_refused(pytester):
    """Bad input: a group of steps for one zombie, a misspelt end of a run."""
    result = run(
        pytester,
        """
    def test_group(zombies): zombies.task("startup")
    def test_until(eos): eos.run(CounterConnector, until="draind")
    """,
    )

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*a zombie is frozen at one step, and 'startup' names 8",
            "*until='draind' is neither 'drained' nor a number of records",
        ]
    )


def test_a_record_that_nobody_expects_is_no_duplicate_in_the_summary(pytester):
    """What the summary counts is what the failed assertion says."""
    test = "def test_it(eos): eos.assert_exactly_once(eos.run(CounterConnector, {'streams': 1, 'until': 2}), ['s0:0'])"
    result = run(pytester, test)

    result.stdout.fnmatch_lines(
        ["*0 duplicates, 0 missing, 1 unexpected*", "found: 0 duplicates, 0 missing, 1 unexpected"]
    )


def test_a_test_that_needs_what_its_backend_lacks_is_refused(pytester):
    """Bad input: said before anything runs, with the backends that can."""
    result = run(pytester, "@pytest.mark.eos_backend('confluent', needs=['batch_headers'])\ndef test_it(eos): pass")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*backend 'confluent' lacks batch_headers, which this test needs; *memory*"])


def test_a_spark_test_without_spark_skips_with_the_remedy(pytester, monkeypatch):
    """Spark or Java missing: skip, and say it in the summary."""
    monkeypatch.setattr(spark, "problem", lambda: "no Java here: install a JDK")

    result = run(pytester, "def test_it(eos_spark): pass")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["skipped: no Java here: install a JDK"])


@pytest.mark.parametrize("how", ["option", "ini"])
def test_a_promised_spark_that_is_missing_fails(pytester, monkeypatch, how):
    """`--eos-require`: what continuous integration promised must be there."""
    monkeypatch.setattr(spark, "problem", lambda: "no Java here: install a JDK")
    if how == "ini":
        pytester.makeini("[pytest]\neos_require = spark\n")

    result = run(pytester, "def test_it(eos_spark): pass", *(["--eos-require=kafka,spark"] if how == "option" else []))

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*spark is required by --eos-require, but: no Java here: install a JDK"])


@pytest.mark.parametrize("required", [True, False])
def test_a_query_that_finds_no_spark_keeps_the_promise_as_well(pytester, monkeypatch, required):
    """It asks for no fixture that could fail the test, or name the reason in the summary."""
    monkeypatch.setattr(runs, "problem", lambda: "no Java here: install a JDK")
    test = "@pytest.mark.eos_clock('real')\ndef test_it(eos): eos.run_query('queries:copy')"

    result = run(pytester, test, *(["--eos-require=spark"] if required else []))

    result.assert_outcomes(failed=required, skipped=not required)
    words = "*spark is required by --eos-require, but" if required else "skipped"
    result.stdout.fnmatch_lines([f"{words}: no Java here: install a JDK"])


@pytest.mark.parametrize("required", [True, False])
def test_a_test_marked_as_one_of_spark_does_not_run_without_it(pytester, monkeypatch, required):
    """`eos_spark` as a marker: for tests that start Spark themselves."""
    monkeypatch.setattr(spark, "problem", lambda: "no Java here: install a JDK")

    result = run(
        pytester,
        "@pytest.mark.eos_spark\ndef test_it(): raise AssertionError('it runs')",
        *(["--eos-require=spark"] if required else []),
    )

    result.assert_outcomes(errors=required, skipped=not required)
    words = "*spark is required by --eos-require, but" if required else "skipped"
    result.stdout.fnmatch_lines([f"{words}: no Java here: install a JDK"])


def test_the_header_says_what_tests_run_on(pytester):
    """One line: version, backends, Spark, seed."""
    result = run(pytester, "def test_it(eos): eos.run(CounterConnector)", "--eos-seed=7")

    result.assert_outcomes(passed=1)
    spark = "lazy" if find_spec("pyspark") else "missing"
    result.stdout.fnmatch_lines([f"eos: {__version__} backends=memory spark={spark} seed=7"])


def test_all_installed_backends_take_their_turn(pytester):
    """`--eos-backend=all`: one test per backend."""
    result = run(pytester, "def test_it(eos): eos.run(CounterConnector)", "--eos-backend=all", "-v")

    result.stdout.fnmatch_lines(["*test_it[[]confluent[]] PASSED*", "*test_it[[]memory[]] PASSED*"])


def test_workers_of_xdist_share_the_seed_and_the_summary(pytester):
    """xdist-safe: chance repeats, counts add up."""
    pytester.makepyfile(
        counter=Path(counter.__file__).read_text(encoding="utf-8"),
        test_it="""
        import pytest
        from counter import CounterConnector

        @pytest.mark.eos_zombie(at=["commit", "poll", "send"])
        def test_it(eos):
            run = eos.run(CounterConnector)
            eos.assert_exactly_once(run, run.source_records())

        def test_seed(eos):
            assert eos.settings.seed == 11
        """,
    )

    result = pytester.runpytest_subprocess(*QUIET, *WITHOUT_PLUGINS, "-n2", "--eos-seed=11")

    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["zombies: 3 raised, *"])


def test_switched_off_it_leaves_nothing_behind(pytester):
    """`-p no:eos`: no header, no fixture, no harm."""
    pytester.makepyfile("def test_it(): pass")

    result = pytester.runpytest_subprocess(*QUIET, *WITHOUT_PLUGINS, "-p", "no:eos")

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("eos:*")


def test_loading_it_loads_nothing_heavy():
    """An empty run pays for a few small modules: no framework, no client, no Spark."""
    code = (
        "import sys, json, pytest; before = set(sys.modules); import pytest_eos.plugin, pytest_eos.fixtures\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in set(sys.modules) - before})))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    heavy = {"eosfw", "pyspark", "pyarrow", "confluent_kafka", "kio", "kafka", "numpy", "pluggy"}
    assert not heavy & set(json.loads(done.stdout))


def test_a_zombie_of_a_query_that_is_not_run_fails_the_test(pytester, monkeypatch):
    """A fault that was asked for must happen."""
    monkeypatch.setattr(spark, "problem", lambda: None)

    result = run(
        pytester, "@pytest.mark.eos_zombie(at='batch:commit')\ndef test_it(eos): assert not eos.cluster.virtual"
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the zombie at batch:commit never rose: the test called no `eos.run_query`.*"])


def test_a_step_of_a_query_freezes_no_task_of_a_connector(pytester, monkeypatch):
    """Bad input: the zombie of a query in a test that runs a connector alone."""
    monkeypatch.setattr(spark, "problem", lambda: None)

    result = run(
        pytester,
        """
        @pytest.mark.eos_zombie(at='batch:commit')
        def test_connector(eos):
            eos.run(CounterConnector, {"streams": 1})

        @pytest.mark.eos_zombie(at='commit')
        def test_query(eos):
            eos.run_query("queries:copy")
        """,
    )

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*commit is a step of a connector's task: a query has the steps `batch:...`*"])


def test_a_test_with_types_can_name_the_class_of_each_fixture_of_the_package():
    """What `mypy --strict` asks for in the arguments of a test."""
    kinds = {name: inspect.signature(getattr(fixtures, name)).return_annotation for name in OF_PACKAGE}

    named = {name: kind.removeprefix("Iterator[").removesuffix("]") for name, kind in kinds.items()}
    assert set(named.values()) <= set(pytest_eos.__all__)
    assert all(inspect.isclass(getattr(pytest_eos, kind)) for kind in named.values())
