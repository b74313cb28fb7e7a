"""eosfw-console keeps the contract of extensions of the REST interface."""

import pytest

from eosfw_console.extension import Console
from pytest_eos.contracts import RestExtensionContract


class TestConsole(RestExtensionContract):
    @pytest.fixture
    def rest_extension_class(self):
        return Console
