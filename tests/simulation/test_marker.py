"""The marker `eos_simulation`: what it plays, what it prints of a seed that fails, what it refuses."""

from __future__ import annotations

import json
import re
from textwrap import dedent

import pytest

from pytest_eos.environment.config.installed_plugins import installed_plugins

pytest_plugins = ("pytester",)
HEAD = """
    import subprocess, threading, pytest
    from tests.pytest_eos.counter import CounterConnector, CounterTask

    SMALL = {"streams": 2, "until": 8, "batch": 4, "tasks.max": 2}
    """
BROKEN = """
    class Task(CounterTask):
        def offset_behind(self, number):
            return number + 2

    class Broken(CounterConnector):
        name, task = "broken", Task

    @pytest.mark.eos_simulation(seeds=30)
    def test_broken(eos):
        eos.run(Broken, SMALL)
    """
RIGHT = """
    @pytest.mark.eos_simulation(seeds=2)
    def test_right(eos):
        eos.run(CounterConnector, SMALL)
    """
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again


def run(pytester, test, *arguments):
    """Run a test file inside this process."""
    pytester.makepyfile(dedent(HEAD) + dedent(test))
    return pytester.runpytest_inprocess("-pno:cacheprovider", "--eos-seed=1", *arguments)


def test_a_seed_that_fails_prints_its_faults_and_the_command_that_plays_it_again(pytester):
    """SIM-04: shrunk to the fewest faults; the command alone fails in the same way."""
    result = run(pytester, BROKEN)

    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    token = re.search(r"--eos-simulation-seed=([\d:,]+)", text)[1]
    assert len(token.partition(":")[2].split(",")) <= 2
    result.stdout.fnmatch_lines(["*seed * failed with * worker*fault* enough:", "*broken*is not exactly once: *"])
    again = pytester.runpytest_inprocess("-pno:cacheprovider", f"--eos-simulation-seed={token}")
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines([f"*--eos-simulation-seed={token}*"])


def test_the_coverage_is_shown_and_written(pytester):
    """SIM-05."""
    result = run(pytester, RIGHT, "--eos-simulation-seeds=3", "--eos-simulation-coverage=coverage.json")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["3 seeds, * events", "fault *drawn*happened", "rare state *"])
    written = json.loads((pytester.path / "coverage.json").read_text())
    assert written["seeds"] == 3
    assert set(written["drawn"]) >= set(written["fired"])


@pytest.mark.parametrize(
    ("start", "what"),
    [
        ("threading.Thread(target=print).start()", "a thread"),
        ("subprocess.run(['true'])", "a process"),
    ],
)
def test_a_connector_with_threads_or_processes_of_its_own_is_refused(pytester, start, what):
    """SIM-06: named, with the place, even where it catches what is raised."""
    test = f"""
    class Task(CounterTask):
        def start(self, config, context):
            try:
                {start}
            except Exception:
                pass
            super().start(config, context)

    class Threaded(CounterConnector):
        name, task = "threaded", Task

    @pytest.mark.eos_simulation(seeds=2)
    def test_threaded(eos):
        eos.run(Threaded, SMALL)
    """
    result = run(pytester, test)

    assert result.ret != 0
    result.stdout.fnmatch_lines([f"*start (*) starts {what} of its own, which cannot be simulated*"])


@pytest.mark.parametrize(
    ("test", "why"),
    [
        (
            "@pytest.mark.eos_simulation(seeds=0)\ndef test_none(eos): pass",
            "*write @pytest.mark.eos_simulation(seeds=NUMBER)*",
        ),
        ("@pytest.mark.eos_simulation(3)\ndef test_positional(eos): pass", "*write @pytest.mark.eos_simulation*"),
        ("@pytest.mark.eos_simulation\ndef test_no_eos(): pass", "*needs the fixture `eos`*"),
        ("@pytest.mark.eos_simulation\ndef test_faults(eos, faults): pass", "*faults cannot be simulated*"),
        ("@pytest.mark.eos_simulation\ndef test_worker(eos): eos.worker()", "*eos.worker is not simulated*"),
        ("@pytest.mark.eos_simulation\n@pytest.mark.eos_clock('real')\ndef test_real(eos): pass", "*virtual time*"),
    ],
    ids=lambda given: re.search(r"test_(\w+)", given)[1] if "def" in given else "",
)
def test_what_cannot_be_simulated_is_refused(pytester, test, why):
    """SIM-06."""
    pytester.makepyfile("import pytest\n" + test)
    result = pytester.runpytest_inprocess("-pno:cacheprovider")

    assert result.ret != 0
    result.stdout.fnmatch_lines([why])


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--eos-simulation-seeds=-2", "*eos_simulation_seeds: must be 1 or more, not -2*"),
        ("--eos-simulation-seeds=0", "*eos_simulation_seeds: must be 1 or more, not 0*"),
        ("--eos-patience=0", "*eos_patience: must be above 0, not 0*"),
        ("--eos-patience=nan", "*eos_patience: must be above 0, not nan*"),
        ("--eos-patience=inf", "*eos_patience: must be above 0, not inf*"),
        ("--eos-simulation-coverage=.", "*--eos-simulation-coverage: '.' cannot be written*"),
    ],
)
def test_a_number_that_would_play_or_wait_for_nothing_is_refused(pytester, option, why):
    """SIM-06: fewer seeds than one would pass every test."""
    result = run(pytester, RIGHT, option)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([why])


def test_the_coverage_may_go_to_a_folder_that_is_not_there_yet(pytester):
    """SIM-05: a long run must not end without what it has found."""
    run(pytester, RIGHT, "--eos-simulation-seeds=1", "--eos-simulation-coverage=new/coverage.json")

    assert json.loads((pytester.path / "new" / "coverage.json").read_text())["seeds"] == 1


def test_a_simulated_test_that_runs_no_connector_fails(pytester):
    """SIM-06: it proves nothing."""
    result = run(pytester, "@pytest.mark.eos_simulation(seeds=1)\ndef test_nothing(eos): pass")

    result.assert_outcomes(failed=1)


def test_a_backend_with_threads_of_its_own_is_skipped(pytester):
    """SIM-06."""
    result = run(pytester, RIGHT, "--eos-backend=confluent", "-rs")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*backend confluent cannot be simulated*"])


def test_a_coroutine_is_refused(pytester):
    """SIM-06: nobody would await it."""
    result = run(pytester, "@pytest.mark.eos_simulation(seeds=1)\nasync def test_it(eos): eos.run(CounterConnector)")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*eos_simulation plays no coroutine: write a plain function*"])
