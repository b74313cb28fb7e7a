"""The library keeps its log to itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from eosfw.errors import ProducerFencedError
from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from eosfw.waiting import ThreadRuntime
from eosfw_kafka_python.backend import KafkaPythonBackend

WAIT = 20.0


@pytest.mark.smoke
def test_fencing_and_a_dead_address_print_nothing(embedded: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Ruling on output: stderr is for the user, what kafka-python says goes through a logger."""
    backend = KafkaPythonBackend.connect({"bootstrap.servers": embedded}, ThreadRuntime())
    backend.admin().create_topics([NewTopic("quiet-kafka-python")])
    zombie, successor = backend.producer("quiet-kafka-python"), backend.producer("quiet-kafka-python")
    zombie.init_transactions(WAIT)
    zombie.begin_transaction()
    zombie.send(ProducerRecord("quiet-kafka-python", b"v"))
    zombie.flush(WAIT)
    successor.init_transactions(WAIT)
    with pytest.raises(ProducerFencedError):
        zombie.commit_transaction(WAIT)
    dead = KafkaPythonBackend.connect({"bootstrap.servers": "127.0.0.1:1"}, ThreadRuntime()).producer(None)
    dead.send(ProducerRecord("quiet-kafka-python", b"v"))
    dead.close(timeout=0.5)
    backend.close()

    assert capfd.readouterr() == ("", "")


def test_who_only_looks_at_plugins_does_not_wait_for_the_library() -> None:
    """Goal 9: it is imported when it is used; where warnings are errors, too."""
    asked = "import sys, eosfw_kafka_python.hooks as h; list(h.eosfw_backends()); print('kafka' in sys.modules)"
    command = [sys.executable, "-W", "error", "-c", asked]

    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout == "False\n"


def test_the_library_s_log_is_for_those_who_look_closer() -> None:
    """Its warnings come back as errors of calls: a command line shows each once."""
    told = (
        "import logging{more}; import eosfw_kafka_python.connection; print(logging.getLogger('kafka').isEnabledFor(30))"
    )

    def asked(more: str) -> str:
        command = [sys.executable, "-c", told.format(more=more)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    assert asked("") == "False"
    assert asked("; logging.basicConfig(level=logging.INFO)") == "True"
    assert asked("; logging.getLogger('kafka').setLevel(logging.WARNING)") == "True"
