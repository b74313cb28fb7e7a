"""Paths lead into JSON."""

import pytest

from eosfw_http.json_path import found

DOCUMENT = {"a": {"b": [{"c": 1}, {"c": None}]}, "@odata.nextLink": "x", "0": "zero", "": "nothing"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("", DOCUMENT),
        ("$", DOCUMENT),
        ("a.b[0].c", 1),
        ("$.a.b.0.c", 1),
        ("['a'][\"b\"][0]['c']", 1),
        ("['@odata.nextLink']", "x"),
        ("0", "zero"),
        ("a.b[1].c", None),
        ("a.b[2].c", "absent"),
        ("a.b.c", "absent"),
        ("a.x", "absent"),
        ("0.x", "absent"),
    ],
)
def test_a_path_leads_to_a_value(path, value):
    """HTP-02: where null is another thing than nothing."""
    assert found(DOCUMENT, path, "absent") == value
