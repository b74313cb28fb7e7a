"""Hold the memory client to every guarantee of KIP-98 that the tests of the confluent client state."""
# ruff: noqa: F403, I001

from __future__ import annotations

import pytest

from eosfw_memory.client.fencer import MemoryFencer
from kip98.lab import Lab

from kip98.test_abort import *
from kip98.test_atomic_visibility import *
from kip98.test_fencing import *
from kip98.test_isolation import *
from kip98.test_order_of_calls import *
from kip98.test_partitioning import *
from kip98.test_threads import *
from kip98.test_timeouts import *
from kip98.test_zombies import *


@pytest.fixture
def fencer(lab: Lab) -> MemoryFencer:
    """A fencer over the same backend."""
    return MemoryFencer.connect(lab.backend, {}, lab.runtime)
