"""A client that goes away while its request is on its way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from eosfw.errors import EosfwError
from eosfw_memory.faults.fault import Fault
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness


def give_up(lab: BackendHarness, client: Any, held: Fault, call: Callable[[], object]) -> None:
    """Have a client make a call whose request is held, and close it then."""

    def tried() -> None:
        with suppress(EosfwError):
            call()

    waiting = lab.runtime.spawn("gives up", tried)
    held.await_fired(WAIT)
    client.close()
    assert waiting.join(WAIT)
