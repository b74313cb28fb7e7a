"""What the modes of a group's workers permit."""

from __future__ import annotations

import pytest

from eosfw.state.group.support import GroupSupport, group_support


@pytest.mark.parametrize(
    ("modes", "mixture"),
    [
        ({}, None),
        ({"a": "enabled", "b": "enabled"}, None),
        ({"a": "disabled"}, None),
        ({"b": "preparing", "a": "preparing", "c": "disabled"}, "disabled in c and preparing in a, b"),
        ({"a": "preparing", "b": "enabled"}, "enabled in b and preparing in a"),
    ],
)
def test_neighbouring_modes_are_a_rolling_upgrade(modes, mixture):
    """UPG-01, UPG-02."""
    said = mixture and f"exactly.once.source.support is {mixture}: a rolling upgrade is under way"

    assert group_support(modes) == GroupSupport(mixture=said)


def test_workers_that_are_disabled_beside_enabled_ones_get_no_tasks():
    """UPG-02: without transactions they would write what cannot be fenced."""
    modes = {"a": "enabled", "d": "disabled", "c": b"disabled".decode(), "b": "preparing"}
    found = group_support(modes)

    assert (found.excluded, found.mixture) == ({"c", "d"}, None)
    assert str(found.problem).startswith(
        "exactly.once.source.support is disabled in c, d and enabled in a: without transactions"
    )
