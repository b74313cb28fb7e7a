"""The fixtures of contracts that run on a backend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

import pytest

from eosfw.capabilities import Capabilities
from eosfw.protocols import Backend, Fencer
from pytest_eos.contracts.backends.harness import BackendHarness
from pytest_eos.environment.clusters.cleanup import CREATED_RESOURCES
from pytest_eos.environment.clusters.cluster import runtime
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.config.markers import suggestion
from pytest_eos.harness import EosHarness


class BackendFixtures:
    """The fixtures of contracts on a backend; its capabilities choose the tests."""

    @pytest.fixture
    def backend(self, eos: EosHarness) -> Backend:
        """A backend connected to the test's own cluster; `--eos-backend` chooses it."""
        return eos.backend

    @pytest.fixture
    def lab(self, request: pytest.FixtureRequest, backend: Backend) -> Iterator[BackendHarness]:
        """A harness on the backend, closed after the test."""
        lab = BackendHarness(backend, runtime(), request.config.stash[CREATED_RESOURCES])
        yield lab
        lab.close()

    @pytest.fixture
    def fencer(self, backend: Backend) -> Iterator[Fencer]:
        """The fencer that is installed for the backend."""
        fencer = installed_plugins().fencer(backend.name).connect(backend, {}, runtime())
        yield fencer
        fencer.close()

    @pytest.fixture(autouse=True)
    def _only_what_is_declared(self, request: pytest.FixtureRequest) -> None:
        needed = [name for mark in request.node.iter_markers("eos_needs") for name in mark.args]
        if not needed:
            return
        _refuse_unknown(needed)
        backend = request.getfixturevalue("backend")
        if lacking := backend.capabilities.lacking(*needed):
            pytest.skip(f"backend {backend.name!r} does not declare {', '.join(lacking)}")


class BackendUnderTestFixtures(BackendFixtures):
    """The fixtures of contracts that test the backend itself, which the author must name."""

    @pytest.fixture
    def backend(self) -> Backend:
        """The backend under test, connected to a cluster on which topics can be made."""
        raise pytest.UsageError(f"{type(self).__name__}: define a fixture `backend` that returns a connected Backend")


def _refuse_unknown(needed: Sequence[str]) -> None:
    """Raise UsageError for a capability that does not exist: its test would never run."""
    known = [field.name for field in fields(Capabilities)]
    for name in needed:
        if name not in known:
            raise pytest.UsageError(
                f"eos_needs: there is no capability {name!r}{suggestion(name, known, dashes=False)}"
            )
