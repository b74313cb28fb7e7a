"""The marker `eos_simulation` for pytest: a simulated test is played once for each seed.

pytest imports this module at every start, so it imports nothing of the framework before a test is simulated.
"""

from __future__ import annotations

import json
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_eos.environment.config.options import SETTINGS, Options
from pytest_eos.environment.config.session_statistics import HARNESSES
from pytest_eos.simulation.coverage import Coverage

if TYPE_CHECKING:
    from pytest_eos.simulation.fault_plan import FaultPlan
    from pytest_eos.simulation.seeds import Played

MARKER = "eos_simulation"
SEEDS = 100
COVERAGE = pytest.StashKey[Coverage]()
"""What simulated tests have seen: all of a session in the stash of its configuration, one in that of its item."""
PLAY_AGAIN = pytest.StashKey[str]()
"""The command that plays a seed of this session again, up to the seed, if it is not pytest's."""
_WORKER_KEY = "eos_simulation"
_NOT_SIMULATED = frozenset({"faults", "zombies", "eos_spark", "_eos_spark", "eos_cluster", "eos_zombie_spec"})


def pytest_configure(config: pytest.Config) -> None:
    """Count from nothing."""
    config.stash[COVERAGE] = Coverage()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Play a marked test once for each of its seeds; the first one that fails is shrunk and fails the test."""
    marker = pyfuncitem.get_closest_marker(MARKER)
    if marker is None:
        return None
    options = pyfuncitem.config.stash[SETTINGS]
    seeds = _checked(pyfuncitem, marker, options)
    _play_all(pyfuncitem, _plans(pyfuncitem, options, seeds), options)
    return True


def _checked(item: pytest.Function, marker: pytest.Mark, options: Options) -> int:
    """The number of seeds; UsageError for what cannot be simulated."""
    seeds = marker.kwargs.get("seeds", SEEDS)
    if marker.args or marker.kwargs.keys() - {"seeds"} or type(seeds) is not int or seeds < 1:
        raise pytest.UsageError(f"{item.nodeid}: write @pytest.mark.{MARKER}(seeds=NUMBER), a number from 1 on")
    if iscoroutinefunction(item.obj):
        raise pytest.UsageError(f"{item.nodeid}: {MARKER} plays no coroutine: write a plain function")
    arguments = item._fixtureinfo.argnames  # noqa: SLF001 - as pytest's own call of a test does
    if "eos" not in arguments:
        raise pytest.UsageError(f"{item.nodeid}: {MARKER} needs the fixture `eos` in the test's arguments")
    if odd := sorted(_NOT_SIMULATED & set(arguments)):
        raise pytest.UsageError(f"{item.nodeid}: {', '.join(odd)} cannot be simulated: the seed draws what happens")
    for other in ("eos_zombie", "eos_cluster"):
        if item.get_closest_marker(other) is not None:
            raise pytest.UsageError(f"{item.nodeid}: {MARKER} and {other} exclude each other")
    eos: Any = item.funcargs["eos"]
    if eos.backend_name != "memory":
        pytest.skip(f"backend {eos.backend_name} cannot be simulated: its client has threads of its own")
    if not eos.cluster.virtual:
        raise pytest.UsageError(
            f"{item.nodeid}: a simulation needs the embedded broker and virtual time, without "
            "--eos-bootstrap-servers, --eos-security and --eos-clock=real"
        )
    return options.simulation_seeds or seeds


def _plans(item: pytest.Function, options: Options, seeds: int) -> list[str]:
    """The seeds to play, as tokens: the one that was asked for, or so many from `--eos-seed` on."""
    if options.simulation_seed is None:
        return [str(options.seed + number) for number in range(seeds)]
    from pytest_eos.simulation.fault_plan import parse_token

    try:
        parse_token(options.simulation_seed)
    except ValueError as why:
        raise pytest.UsageError(f"{item.nodeid}: --eos-simulation-seed={options.simulation_seed}: {why}") from None
    return [options.simulation_seed]


def _play_all(item: pytest.Function, tokens: list[str], options: Options) -> None:
    __tracebackhide__ = True
    from pytest_eos.simulation.fault_plan import parse_token
    from pytest_eos.simulation.seeds import play, report, shrink

    arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}  # noqa: SLF001 - as above
    harness: Any = item.funcargs["eos"]
    folder: Path = harness.settings.folder
    coverage = item.stash[COVERAGE] = Coverage()

    def played(plan: FaultPlan) -> Played:
        return play(plan, lambda eos: item.obj(**{**arguments, "eos": eos}), item.nodeid, folder)

    try:
        for token in tokens:
            found = played(parse_token(token))
            coverage.add_run(found)
            item.stash[HARNESSES] = [found.harness]
            if found.failure is None:
                if found.harness.group is None:
                    raise pytest.UsageError(f"{item.nodeid}: it calls no `eos.run(CONNECTOR, ...)`: it shows nothing")
                continue
            best = found if options.simulation_seed is not None else shrink(found, played)
            item.stash[HARNESSES] = [best.harness]
            again = item.config.stash.get(PLAY_AGAIN, f"{harness.settings.command} --eos-simulation-seed=")
            pytest.fail(report(best, again, found), pytrace=False)
    finally:
        item.config.stash[COVERAGE].add(coverage.as_json())


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Let go of the last run: pytest keeps every item until the end of the session, and its stash with it."""
    if item.get_closest_marker(MARKER) is not None:
        item.stash[HARNESSES] = []


# --- coverage


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show the coverage if that was asked for."""
    wanted, coverage = config.stash[SETTINGS].simulation_coverage, config.stash[COVERAGE]
    if wanted is None or not coverage.seeds:
        return
    terminalreporter.section("eos simulation")
    for line in coverage.lines():
        terminalreporter.write_line(line)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the coverage as JSON; a worker of pytest-xdist sends its part to the controller."""
    coverage, output = session.config.stash[COVERAGE], getattr(session.config, "workeroutput", None)
    wanted = session.config.stash[SETTINGS].simulation_coverage
    if output is not None:
        output[_WORKER_KEY] = coverage.as_json()
    elif wanted not in (None, "-"):
        path = Path(str(wanted))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(coverage.as_json(), indent=2) + "\n", encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the coverage of a worker of pytest-xdist."""
    counted = getattr(node, "workeroutput", {}).get(_WORKER_KEY)
    if counted:
        node.config.stash[COVERAGE].add(counted)
