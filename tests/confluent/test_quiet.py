"""The library keeps its log to itself."""

from __future__ import annotations

import logging

import pytest

from eosfw.errors import ProducerFencedError
from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from eosfw.waiting import ThreadRuntime
from eosfw_confluent.backend import ConfluentBackend

WAIT = 20.0


@pytest.mark.smoke
def test_fencing_and_a_dead_address_print_nothing(embedded: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Ruling on output: stderr is for the user, what librdkafka says goes through a logger."""
    backend = ConfluentBackend.connect({"bootstrap.servers": embedded}, ThreadRuntime())
    backend.admin().create_topics([NewTopic("quiet-confluent")])
    zombie, successor = backend.producer("quiet-confluent"), backend.producer("quiet-confluent")
    zombie.init_transactions(WAIT)
    zombie.begin_transaction()
    zombie.send(ProducerRecord("quiet-confluent", b"v"))
    zombie.flush(WAIT)
    successor.init_transactions(WAIT)
    with pytest.raises(ProducerFencedError):
        zombie.commit_transaction(WAIT)
    dead = ConfluentBackend.connect({"bootstrap.servers": "127.0.0.1:1"}, ThreadRuntime()).producer(None)
    dead.send(ProducerRecord("quiet-confluent", b"v"))
    dead.close(timeout=0.5)
    backend.close()

    assert capfd.readouterr() == ("", "")


def test_the_library_s_log_is_for_those_who_look_closer(caplog: pytest.LogCaptureFixture) -> None:
    """Its warnings, fatal ones included, come back as errors of calls: a command line shows each once."""
    log = logging.getLogger("eosfw_confluent.librdkafka")
    with caplog.at_level(logging.WARNING):
        log.critical("fenced")
    assert caplog.messages == []

    with caplog.at_level(logging.INFO):
        log.critical("fenced")
    assert caplog.messages == ["fenced"]
