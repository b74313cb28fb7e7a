"""The REST interface answers as a real Kafka Connect 4.1.1 did: each call is equal, or listed with a reason."""

from __future__ import annotations

from .comparison import INTERFACE, Difference, differences, explains
from .sending import answers

WORKER = (
    Difference(r"GET /(connector-plugins.*|admin/loggers.*)", 200, 200, "other plugins and loggers are there"),
    Difference(r"PUT /connector-plugins/.*/validate .*", 200, 200, "properties are described in other words"),
    Difference(r"PUT /connector-plugins/.*", 400, 400, "a class that is not installed is named first"),
    Difference(r"(POST|PUT) /connectors.*", 400, 400, "messages about properties have other words"),
    Difference(r"PATCH .*/config .*\"topic\": null.*", 400, 400, "the same but for a full stop"),
    Difference(r"(POST|PUT) .*(\"(topic|batch.size)\": null).*", 201, 400, "a property without a value is a mistake"),
    Difference(r"PUT .*\"batch.size\": null.*", 200, 400, "the same"),
    Difference(r"PUT .*\"x\": true.*", 200, 400, "an unknown property is a mistake, with the nearest name"),
    Difference(r"POST /connectors .*", 409, 201, "so that call created the connector"),
    Difference(r"GET /connectors/c1(/config|/topics|)", 200, 200, "and with a topic"),
    Difference(r"PATCH .*/config \{\}", 200, 200, "and its name stayed"),
    Difference(r"GET .*/tasks", 200, 200, "tasks of the file connector get a list of files"),
    Difference(r"GET .*/offsets", 200, 200, "offsets of the file connector tell one file from another of its name"),
    Difference(r"POST .*/tasks/0/restart", 409, 404, "it is never behind the config topic"),
)
"""What a worker does otherwise."""


def test_every_call_is_answered_as_by_kafka_connect(worker, tmp_path):
    """A worker's status codes, bodies and content types, but for the differences that are listed."""
    known = [*INTERFACE, *WORKER]

    found = list(differences([(call.name, got) for call, got in answers(worker, str(tmp_path))]))

    unexplained = [row for row in found if not any(explains(one, *row) for one in known)]
    unused = [one for one in known if not any(explains(one, *row) for row in found)]
    assert [(name, wanted["status"], got["status"], got["body"]) for name, wanted, got in unexplained] == []
    assert unused == [], "remove differences that are none any more"
