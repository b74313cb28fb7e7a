"""The clock of a test is chosen automatically or by option; an impossible choice is refused."""

from __future__ import annotations

from textwrap import dedent

import pytest

from pytest_eos.environment.config.installed_plugins import installed_plugins

pytest_plugins = ("pytester",)
QUIET = ("-p", "no:cacheprovider")
HEAD = "import pytest\nfrom tests.pytest_eos.counter import CounterConnector\n"
NO_SPARK = "@pytest.fixture\ndef eos_spark(): pass\n\n"
"""The question alone, so that no Spark need start."""
REPORTS_CLOCK = """
    def test_clock(eos):
        eos.runtime.sleep(86_400 if eos.cluster.virtual else 0.001)
        print("clock:", "virtual" if eos.cluster.virtual else "real")
    """
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again


def run(pytester, test, *arguments):
    """Run a test file inside this process."""
    pytester.makepyfile(HEAD + dedent(test))
    return pytester.runpytest_inprocess(*QUIET, "-s", *arguments)


@pytest.mark.parametrize(
    ("arguments", "clock"),
    [
        ((), "virtual"),
        (("--eos-clock=auto",), "virtual"),
        (("--eos-clock=virtual",), "virtual"),
        (("--eos-clock=real",), "real"),
        (("-o", "eos_clock=real"), "real"),
        (("-o", "eos_clock=real", "--eos-clock=virtual"), "virtual"),
        (("--eos-backend=confluent",), "real"),
    ],
)
def test_the_clock_is_virtual_by_default_for_in_process_clusters(pytester, arguments, clock):
    """An option with its twin; a command line beats a file."""
    result = run(pytester, REPORTS_CLOCK, *arguments)

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"*clock: {clock}*"])


def test_records_keep_timestamps_of_their_source_in_virtual_time(pytester):
    """Its clock begins in 2000, and Kafka refuses what lies an hour ahead of a broker's clock."""
    result = run(
        pytester,
        """
        from dataclasses import replace
        from tests.pytest_eos.counter import CounterTask

        class Stamped(CounterTask):
            def record(self, stream, number):
                return replace(super().record(stream, number), timestamp=1_767_322_800_000 + number)

        class StampedConnector(CounterConnector):
            task = Stamped

        def test_stamped(eos):
            run = eos.run(StampedConnector, {"until": 3, "streams": 1})
            eos.assert_exactly_once(run, expected=["s0:0", "s0:1", "s0:2"])

        @pytest.mark.eos_simulation(seeds=1)
        def test_simulated(eos):
            eos.run(StampedConnector, {"until": 3, "streams": 1})
        """,
    )

    result.assert_outcomes(passed=2)


def test_a_marker_beats_the_option(pytester):
    """One test whose source has threads of its own must not decide for all."""
    marked = "@pytest.mark.eos_clock('real')\n" + dedent(REPORTS_CLOCK).strip().replace("test_clock", "test_marked")
    result = run(pytester, f"{dedent(REPORTS_CLOCK)}\n{marked}", "--eos-clock=virtual")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*clock: virtual*", "*clock: real*"])


@pytest.mark.parametrize(
    ("test", "arguments", "why"),
    [
        ("def test_it(eos): pass", ("--eos-backend=confluent",), "backend 'confluent' has threads*of its own"),
        ("def test_it(eos): pass", ("--eos-bootstrap-servers=h:1",), "the cluster at h:1 has a clock of its own"),
        (f"{NO_SPARK}def test_it(eos, eos_spark): pass", (), "`eos_spark` runs in other processes"),
    ],
)
def test_virtual_time_is_refused_where_it_is_impossible(pytester, test, arguments, why):
    """A UsageError that says why, and what to say instead."""
    result = run(pytester, test, "--eos-clock=virtual", *arguments)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*a virtual clock is impossible here, since*{why}*--eos-clock=auto*"])


def test_tests_with_spark_get_the_real_clock_by_default(pytester):
    """Default: auto; only the question which clock is asked, so that Spark need not start."""
    result = run(pytester, f"{NO_SPARK}def test_it(eos, eos_spark): assert not eos.cluster.virtual")

    result.assert_outcomes(passed=1)


def test_other_processes_are_refused_in_virtual_time(pytester):
    """A worker process, or a Spark session that the test brought along, has another clock."""
    result = run(
        pytester,
        """
    def test_process(zombies):
        zombies.process("tests.pytest_eos.counter:CounterConnector", {}, at="commit")

    def test_spark(eos):
        eos.run(CounterConnector).dataframe(None)
    """,
    )

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*a worker in a process of its own cannot take part in virtual time*eos_clock*real*"])
    result.stdout.fnmatch_lines(["*Spark (a session*cannot take part in virtual time*"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--eos-clock=lunar",), "*invalid choice: 'lunar'*"),
        (("-o", "eos_clock=lunar"), "*eos_clock = 'lunar' is unknown; there are: auto,*"),
    ],
)
def test_a_clock_that_does_not_exist_is_refused(pytester, arguments, message):
    """Bad input; of a marker, too, with all others."""
    result = run(pytester, "def test_it(eos): pass", *arguments)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_the_same_seed_repeats_a_test(pytester):
    """What the header printed brings the same interleaving back."""
    test = """
    def test_it(eos):
        eos.run(CounterConnector, {"tasks.max": 2})
        print("story:", hash(tuple((e.step.value, e.at, e.task) for e in eos.history.events())))
    """

    def drawn(seed):
        result = run(pytester, test, f"--eos-seed={seed}")
        return [line for line in result.outlines if "story:" in line]

    assert drawn(5) == drawn(5)
    assert len({tuple(drawn(seed)) for seed in range(1, 9)}) > 1


def test_a_failure_in_virtual_time_shows_its_timeline_and_seed(pytester):
    """The picture is drawn of microseconds, too."""
    result = run(
        pytester,
        """
    def test_it(eos):
        eos.run(CounterConnector)
        pytest.fail("on purpose")
    """,
        "--eos-seed=7",
    )

    result.stdout.fnmatch_lines(["*eos timeline*", "rerun: pytest *--eos-seed=7"])


def test_a_fixture_that_fails_after_its_run_shows_the_timeline_and_the_seed(pytester):
    """Projects run their connector in a fixture of their own; a failure there must be as easy to repeat."""
    result = run(
        pytester,
        """
    @pytest.fixture
    def counted(eos):
        eos.run(CounterConnector)
        pytest.fail("on purpose")

    def test_it(counted):
        pass
    """,
        "--eos-seed=7",
    )

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*eos timeline*", "counter g0 t0 *", "rerun: pytest *--eos-seed=7"])


def test_a_ctrl_c_that_a_thread_swallows_ends_the_session_all_the_same(pytester):
    """Whoever presses Ctrl-C waits for no further test, wherever it met the one that ran."""
    pytester.makepyfile(
        """
        import signal

        def test_interrupted(eos):
            def swallow():
                try:
                    signal.raise_signal(signal.SIGINT)
                except BaseException:
                    assert eos.runtime.now()
            eos.runtime.spawn("swallows", swallow).join()

        def test_next(eos):
            pass
        """
    )

    result = pytester.runpytest_subprocess(*QUIET)

    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["!* KeyboardInterrupt !*", "*no tests ran*"])
