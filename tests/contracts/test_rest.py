"""eosfw-rest keeps the contract of REST interfaces."""

import pytest

from eosfw_rest.server import ConnectRestServer
from pytest_eos.contracts import RestServerContract


class TestConnectRest(RestServerContract):
    @pytest.fixture
    def rest_server_class(self):
        return ConnectRestServer
