"""Hostile names of connectors, and modes of workers that contradict each other."""

from __future__ import annotations

import pytest

from eosfw.config.definition.kinds import ConnectorName
from eosfw.state.group.support import group_support


@pytest.mark.parametrize(
    "name",
    ["", " ", "../x", "a/b", "x" * 10_000, "a\0b", "a\nb", "a\rb", "a\u202eb", "a\u2028b", " a", "a\t", "x" * 201],
)
def test_a_hostile_connector_name_is_refused_and_escaped(name: str) -> None:
    """No name breaks a line of a log, or a path."""
    with pytest.raises(ValueError, match=r"String must be non-empty|must be") as refused:
        ConnectorName("name").parse(name)

    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200


def test_exactly_once_in_a_part_of_the_workers_names_the_others() -> None:
    """Who lags behind gets no tasks, and is named with the two steps."""
    judged = group_support({"w1": "enabled", "w2": "disabled", "w3": "enabled"})

    assert judged.excluded == {"w2"}
    assert "disabled in w2 and enabled in w1, w3" in (judged.problem or "")
    assert "preparing" in (judged.problem or "")
