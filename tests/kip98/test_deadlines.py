"""No call outlives its deadline."""

from __future__ import annotations

import pytest

from eosfw.errors import ClusterUnavailableError, FatalError, IndefiniteOutcomeError
from eosfw.protocols import Backend
from kip98.clients import BACKENDS
from pytest_eos.contracts import DeadlineContract
from pytest_eos.environment.config.installed_plugins import installed_plugins


class TestDeadlines(DeadlineContract):
    """The deadline contract for every backend."""

    @pytest.fixture(params=BACKENDS)
    def kind(self, request: pytest.FixtureRequest) -> type[Backend]:
        """Each backend in turn."""
        return installed_plugins().backend(request.param)


def test_indefinite_and_unavailable_are_different_errors() -> None:
    """Design: only an unknown outcome costs the producer."""
    assert issubclass(IndefiniteOutcomeError, FatalError)
    assert not issubclass(ClusterUnavailableError, FatalError)
