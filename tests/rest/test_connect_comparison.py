"""The REST interface answers as a real Kafka Connect 4.1.1 did: each call is equal, or listed with a reason."""

from __future__ import annotations

from .comparison import INTERFACE, Difference, differences, explains
from .sending import answers

IN_MEMORY = (
    Difference(r"(GET|PUT) /connector-plugins.*", 200, 200, "it has another plugin, with one property"),
    Difference(r"PUT /connector-plugins/no.such.Class.*", 500, 200, "it validates nothing"),
    Difference(r"(GET .*/tasks|PUT .*\"batch.size\": null.*)", 200, 200, "its tasks have no class; it leaves out null"),
    Difference(r"(POST|PUT) .*\"topic\": null.*", 201, 400, "a property without a value is missing"),
    Difference(r"POST /connectors .*", 409, 201, "so that call created the connector"),
    Difference(r"(GET /connectors/c1|POST /connectors .*)", 200, 200, "and with a topic"),
    Difference(r"(GET|PATCH) .*/config.*", 200, 200, "Connect accepted another name"),
    Difference(r"GET /connectors/c1/topics", 200, 200, "its topics are there at once"),
    Difference(r"POST .*/tasks/0/restart", 409, 404, "it is never behind the config topic"),
)
"""What the herder in memory does otherwise."""


def test_every_call_is_answered_as_by_kafka_connect(address, tmp_path):
    """Over a herder with Connect's states and messages, so what is compared is the interface alone."""
    (tmp_path / "lines.txt").write_text("one\ntwo\nthree\n")
    known = [*INTERFACE, *IN_MEMORY]

    found = list(differences([(call.name, got) for call, got in answers(address, str(tmp_path))]))

    unexplained = [row for row in found if not any(explains(one, *row) for one in known)]
    unused = [one for one in known if not any(explains(one, *row) for row in found)]
    assert unexplained == []
    assert unused == [], "remove differences that are none any more"
