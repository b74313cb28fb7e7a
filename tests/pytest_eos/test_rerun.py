"""The command under a failed test runs that test again."""

from __future__ import annotations

import re
import shlex
from textwrap import dedent

import pytest

from pytest_eos.environment.config.installed_plugins import installed_plugins

pytest_plugins = ("pytester",)
FAILING = """
    import pytest
    from tests.pytest_eos.counter import CounterConnector

    def test_it(eos):
        pytest.fail("on purpose")

    @pytest.mark.eos_simulation(seeds=1)
    def test_simulated(eos):
        eos.run(CounterConnector, {"until": 2})
        pytest.fail("on purpose")
    """
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again


def run(pytester, *arguments):
    """Run pytest inside this process."""
    return pytester.runpytest_inprocess("-pno:cacheprovider", *arguments)


@pytest.fixture
def suite(pytester):
    """A test in a folder below the one of the configuration file."""
    pytester.makeini("[pytest]")
    folder = pytester.mkdir("suite")
    (folder / "test_failing.py").write_text(dedent(FAILING))
    return folder


def printed(result, label):
    """The arguments of the command that the run printed, without `pytest`."""
    command, *arguments = shlex.split(re.search(rf"^{label}: (.+)$", result.stdout.str(), re.MULTILINE)[1])
    assert command == "pytest"
    return arguments


@pytest.mark.parametrize("folder", [".", "suite", "elsewhere"])
@pytest.mark.parametrize(("test", "label"), [("test_it", "rerun"), ("test_simulated", "play it again")])
def test_it_is_found_from_the_folder_in_which_pytest_was_started(pytester, monkeypatch, suite, folder, test, label):
    """Node ids begin at the folder of the configuration file."""
    (pytester.path / folder).mkdir(exist_ok=True)
    monkeypatch.chdir(pytester.path / folder)

    again = run(pytester, *printed(run(pytester, f"{suite}/test_failing.py::{test}"), label))

    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["*on purpose*"])


def test_it_has_the_options_without_which_there_is_no_such_test(pytester, suite):
    """A test's name has its backend if there are several."""
    given = ("--eos-backend=memory", "--eos-backend=confluent", "--eos-clock=real", "--eos-patience=9")

    arguments = printed(run(pytester, *given, f"{suite}/test_failing.py::test_it[confluent]"), "rerun")

    assert arguments[:-1] == [
        "suite/test_failing.py::test_it[confluent]",
        "--eos-backend=memory,confluent",
        "--eos-clock=real",
        "--eos-patience=9.0",
    ]
    run(pytester, *arguments).assert_outcomes(failed=1)
