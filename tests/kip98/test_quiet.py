"""A client keeps its log to itself."""

from __future__ import annotations

import logging
import subprocess
import sys
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


def test_the_log_of_librdkafka_is_shown_at_level_info_only(caplog: pytest.LogCaptureFixture) -> None:
    """Its warnings, fatal ones included, come back as errors of calls: a command line shows each once."""
    log = logging.getLogger("eosfw_confluent.librdkafka")
    for level, shown in ((logging.WARNING, []), (logging.INFO, ["fenced"])):
        with caplog.at_level(level):
            log.critical("fenced")
        assert caplog.messages == shown


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ("", "False"),
        ("; logging.basicConfig(level=logging.INFO)", "True"),
        ("; logging.getLogger('kafka').setLevel(logging.WARNING)", "True"),
    ],
)
def test_the_log_of_kafka_python_is_shown_at_level_info_only(more: str, shown: str) -> None:
    """In a process of its own: the level is set when the backend is imported."""
    asked = "import eosfw_kafka_python.connection; print(logging.getLogger('kafka').isEnabledFor(30))"
    assert printed(f"import logging{more}; {asked}") == shown


def test_listing_plugins_does_not_import_kafka_python() -> None:
    """It is imported when it is used; where warnings are errors, too."""
    asked = "import sys, eosfw_kafka_python.hooks as h; list(h.eosfw_backends()); print('kafka' in sys.modules)"
    assert printed(asked, "-W", "error") == "False"


def printed(code: str, *options: str) -> str:
    """What a new interpreter prints."""
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
