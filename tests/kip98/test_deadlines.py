"""No call outlives its deadline."""

from __future__ import annotations

import pytest

from eosfw.protocols import Backend
from kip98.clients import BACKENDS
from pytest_eos.contracts import DeadlineContract
from pytest_eos.environment.config.installed_plugins import installed_plugins


@pytest.mark.usefixtures("brief_first_contact")
class TestDeadlines(DeadlineContract):
    """The deadline contract for every backend."""

    @pytest.fixture(params=BACKENDS)
    def kind(self, request: pytest.FixtureRequest) -> type[Backend]:
        """Each backend in turn."""
        return installed_plugins().backend(request.param)
