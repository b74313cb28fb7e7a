"""The pytest plugin: its options, markers, header and summary, and the sections of a failed test.

pytest imports this module at every start, so it imports neither the framework nor a client.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import pytest

from pytest_eos.environment.clusters.cleanup import CREATED_RESOURCES, CreatedResources
from pytest_eos.environment.config import markers
from pytest_eos.environment.config.options import SETTINGS, add_options, read_options
from pytest_eos.environment.config.session_statistics import HARNESSES, STATISTICS, SessionStatistics, give_up
from pytest_eos.environment.diagnostics import broken_promise, first_cause

pytest_plugins = ("pytest_eos.fixtures", "pytest_eos.simulation.plugin")
pytest.register_assert_rewrite("pytest_eos.contracts")

_WORKER_KEY = "eos_statistics"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Read the options, register the markers."""
    config.stash[SETTINGS] = read_options(config)
    config.stash[STATISTICS] = SessionStatistics()
    config.stash[CREATED_RESOURCES] = CreatedResources(config.stash[SETTINGS].keep)
    for line in markers.LINES:
        config.addinivalue_line("markers", line)
    certificate = config.stash[SETTINGS].certificate
    if certificate is not None and not config.option.collectonly:
        from pytest_eos.certificate import plugin

        plugin.register(config, certificate)


def pytest_report_header(config: pytest.Config) -> str:
    """The header line: the backends, the cluster, Spark and the seed."""
    options = config.stash[SETTINGS]
    spark = "lazy" if find_spec("pyspark") else "missing"
    where = f" cluster={options.bootstrap_servers}" if options.bootstrap_servers else ""
    chosen = f"backends={','.join(options.backends)}{where} spark={spark} seed={options.seed}"
    return f"eos: {version('pytest-eos')} {chosen}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each step of its zombie and each backend."""
    where = metafunc.definition.nodeid
    markers.refuse_unknown((mark.name for mark in metafunc.definition.iter_markers()), metafunc.config, where)
    markers.refuse_twice(metafunc.definition.own_markers, where)
    for mark in metafunc.definition.iter_markers("eos_backend"):
        markers.check_backend(mark, where)
    zombie = metafunc.definition.get_closest_marker("eos_zombie")
    if zombie is not None:
        if "eos_zombie_spec" not in metafunc.fixturenames:
            raise pytest.UsageError(f"{where}: eos_zombie needs the fixture `eos` in the test's arguments")
        metafunc.parametrize("eos_zombie_spec", markers.zombie_specs(zombie, where), ids=str, indirect=True)
    chosen = metafunc.config.stash[SETTINGS].backends
    marker = metafunc.definition.get_closest_marker("eos_backend")
    if "eos_backend" in metafunc.fixturenames and (len(chosen) > 1 or "all" in chosen or (marker and marker.args)):
        metafunc.parametrize("eos_backend", markers.backends(marker, chosen, where), indirect=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Run a test that is marked with `eos_spark` where Spark can start alone, and none whose markers do nothing."""
    try:
        markers.refuse_without_effect(item)
    except pytest.UsageError as wrong:
        pytest.fail(str(wrong), pytrace=False)
    if item.get_closest_marker("eos_spark") is None:
        return
    from pytest_eos.runs.queries import spark

    if why := spark.problem():
        give_up(item.config.stash[SETTINGS].required, item.config.stash[STATISTICS], "spark", why)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that passed although a zombie was never frozen or a fault never happened: it proves nothing."""
    if item.stash.get(HARNESSES, []):
        from pytest_eos.virtual.interrupts import interruptible

        with interruptible():
            result = yield
    else:
        result = yield
    for eos in item.stash.get(HARNESSES, []):
        if complaint := eos.never_frozen() or eos.false_commits():
            pytest.fail(complaint, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Show the timeline under a failed test, and the promise that a test of a contract checks."""
    report = yield
    if report.failed and ("eos" in getattr(item, "fixturenames", ()) or broken_promise.text(item)):
        first_cause.mark(report)
    if report.failed:  # where a fixture of the project runs the connector, in the setup
        for eos in item.stash.get(HARNESSES, []):
            report.sections.append(("eos timeline", eos.timeline_section()))
    if report.when == "call" and report.failed and (promise := broken_promise.text(item)):
        report.sections.append(("broken promise", promise))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the summary: zombies, differences, skipped requirements, the cause of the first failure."""
    failed = [*terminalreporter.stats.get("failed", ()), *terminalreporter.stats.get("error", ())]
    if lines := config.stash[STATISTICS].lines() + first_cause.lines(failed):
        terminalreporter.section("eos")
        for line in lines:
            terminalreporter.write_line(line)


# --- pytest-xdist: one seed for all workers, one summary


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Send the seed to a worker of pytest-xdist."""
    node.workerinput["eos_seed"] = node.config.stash[SETTINGS].seed


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove what tests created on a running cluster; send a worker's statistics to the controller."""
    if made := session.config.stash[CREATED_RESOURCES]:
        session.config.stash[STATISTICS].removed += made.lines()
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_WORKER_KEY] = asdict(session.config.stash[STATISTICS])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the statistics of a worker."""
    counted = getattr(node, "workeroutput", {}).get(_WORKER_KEY)
    if counted:
        node.config.stash[STATISTICS].add(counted)
