"""Which offsets a user may give to the file connector."""

from __future__ import annotations

import pytest

from eosfw.connectors import AltersOffsets
from eosfw.errors import BadRequestError
from eosfw_file import FileSourceConnector

HERE = {"filename": "/data/lines.txt"}


def alter(*offsets):
    connector = FileSourceConnector()
    assert isinstance(connector, AltersOffsets)
    return connector.alter_offsets(None, offsets)  # type: ignore[arg-type]


@pytest.mark.parametrize("offset", [{"position": 0}, {"position": 4, "id": "abc"}, {"position": 4, "id": None}, None])
def test_an_offset_that_a_task_can_resume_from_is_accepted(offset):
    """Kafka's own has no id, so it may be left out."""
    assert alter((HERE, offset)) is True


def test_an_unknown_partition_may_be_forgotten():
    """Else what was written by mistake would stay for ever."""
    assert alter(({"a": "b"}, None)) is True


@pytest.mark.parametrize(
    ("partition", "offset", "why"),
    [
        ({"a": "b"}, {"position": 1}, "the key 'filename'"),
        ({"filename": 5}, {"position": 1}, "the key 'filename'"),
        (HERE, {"other": 1}, "contain the key 'position'"),
        (HERE, {"position": "x"}, "a Long value"),
        (HERE, {"position": True}, "a Long value"),
        (HERE, {"position": 1.5}, "a Long value"),
        (HERE, {"position": -4}, "non-negative"),
        (HERE, {"position": 4, "id": 5}, "'id'"),
    ],
)
def test_an_offset_that_no_task_can_resume_from_is_refused(partition, offset, why):
    """With the good ones beside it."""
    with pytest.raises(BadRequestError, match=why):
        alter((HERE, {"position": 1}), (partition, offset))
