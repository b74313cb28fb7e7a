"""A client keeps its log to itself."""

from __future__ import annotations

from contextlib import suppress

import pytest

from eosfw.concurrency import Runtime
from eosfw.errors import ClusterUnavailableError, ProducerFencedError
from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from kip98.clients import BACKENDS
from pytest_eos.contracts.backends.harness import WAIT
from pytest_eos.environment.config.installed_plugins import installed_plugins


@pytest.mark.smoke
@pytest.mark.parametrize("name", BACKENDS)
def test_fencing_and_a_dead_address_print_nothing(
    name: str, embedded: str, runtime: Runtime, capfd: pytest.CaptureFixture[str]
) -> None:
    """The stream stderr is for the user; what a client library says goes through a logger."""
    kind, own = installed_plugins().backend(name), f"quiet-{name}"
    backend = kind.connect({"bootstrap.servers": embedded}, runtime)
    backend.admin().create_topics([NewTopic(own)])
    zombie, successor = backend.producer(own), backend.producer(own)
    zombie.init_transactions(WAIT)
    zombie.begin_transaction()
    zombie.send(ProducerRecord(own, b"v"))
    zombie.flush(WAIT)
    successor.init_transactions(WAIT)
    with pytest.raises(ProducerFencedError):
        zombie.commit_transaction(WAIT)
    dead = kind.connect({"bootstrap.servers": "127.0.0.1:1", "max.block.ms": "200"}, runtime).producer(None)
    with suppress(ClusterUnavailableError):  # some notice at once
        dead.send(ProducerRecord(own, b"v"))
    dead.close(timeout=0.5)
    backend.close()

    assert capfd.readouterr() == ("", "")
