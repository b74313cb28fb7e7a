"""Unmodified clients on a listener with TLS and SCRAM."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from eosfw_kafka_python.backend import load_library

from .conftest import PASSWORD

load_library()  # which warns, once, wherever warnings are errors

from kafka import KafkaConsumer, KafkaProducer  # noqa: E402

WAIT = 30.0
REFUSED = """
import io, json, logging, re, sys
from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError
log, settings, patience_ms = io.StringIO(), json.loads(sys.argv[1]), 100
logging.basicConfig(stream=log)
while not re.search(sys.argv[2], log.getvalue()):
    patience_ms *= 2
    try:
        KafkaProducer(**settings, bootstrap_timeout_ms=patience_ms)
    except KafkaTimeoutError:
        continue
    sys.exit("it was let in")
"""
"""Exits once the log of a producer that cannot connect matches a pattern."""


def librdkafka(secured, authority, **changed):
    return {
        "bootstrap.servers": secured.endpoints["SASL_SSL"],
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
        "ssl.ca.location": authority.authority,
        "log_level": 0,
        **{name.replace("_", "."): value for name, value in changed.items()},
    }


def kafka_python(secured, authority, **changed):
    return {
        "bootstrap_servers": secured.endpoints["SASL_SSL"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "alice",
        "sasl_plain_password": PASSWORD,
        "ssl_cafile": authority.authority,
        **changed,
    }


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_confluent_kafka_runs_transactions_as_a_user_over_tls(secured, authority, mechanism):
    """SEC-25."""
    settings, topic = librdkafka(secured, authority, sasl_mechanism=mechanism), f"confluent-{mechanism}"
    producer = Producer(settings | {"transactional.id": topic})
    producer.init_transactions(WAIT)
    for value, end in (("committed", producer.commit_transaction), ("aborted", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(WAIT)
        end(WAIT)
    consumer = Consumer(
        settings | {"group.id": topic, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    )
    consumer.subscribe([topic])
    message = None
    while message is None or message.error():  # a group needs some rounds to begin
        message = consumer.poll(WAIT)
    consumer.close()

    assert message.value() == b"committed"


def test_kafka_python_runs_a_transaction_as_a_user_over_tls(secured, authority):
    """SEC-25."""
    settings = kafka_python(secured, authority)
    producer = KafkaProducer(**settings, transactional_id="kafka-python")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("kafka-python", b"committed").get(WAIT)
    producer.commit_transaction()
    producer.close()
    consumer = KafkaConsumer(
        "kafka-python", **settings, auto_offset_reset="earliest", isolation_level="read_committed", group_id=None
    )
    record = next(consumer)
    consumer.close()

    assert record.value == b"committed"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"sasl_password": "wrong"}, "due to invalid credentials with SASL mechanism SCRAM-SHA-512"),
        ({"sasl_mechanism": "PLAIN", "sasl_password": "wrong"}, "Authentication failed: Invalid username or password"),
        ({"ssl_ca_location": None}, "certificate verify failed"),
    ],
)
def test_confluent_kafka_reports_a_wrong_password_and_trusts_no_unknown_authority(secured, authority, changed, reason):
    """SEC-25."""
    reported = []
    settings = librdkafka(secured, authority, **changed, error_cb=reported.append)
    settings = {name: value for name, value in settings.items() if value is not None}
    settings["error_cb"] = settings.pop("error.cb")
    producer = Producer(settings)
    while not reported:
        producer.poll(WAIT)

    assert reason in str(reported[0])
    with pytest.raises(KafkaException):
        producer.list_topics(timeout=0.001)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (
            {"sasl_plain_password": "wrong"},
            "due to invalid credentials with SASL mechanism SCRAM-SHA-256|: socket disconnected",
        ),
        ({"ssl_cafile": None}, "certificate verify failed"),
    ],
)
def test_kafka_python_reports_a_wrong_password_and_trusts_no_unknown_authority(secured, authority, changed, reason):
    """SEC-25: it raises that it could not connect; why stands in its log.

    It drops an answer that it reads together with the end of the connection, which Kafka sends right behind a refusal.
    In a process of its own: a producer that could not connect leaves sockets to the garbage collector.
    """
    settings = kafka_python(secured, authority, **changed)
    command = [sys.executable, "-W", "ignore", "-c", REFUSED, json.dumps(settings), reason]
    done = subprocess.run(command, stderr=-1, text=True, timeout=250, check=False)

    assert done.returncode == 0, done.stderr
