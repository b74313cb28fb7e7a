"""Topics for groups, on each cluster."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def topic(new_topic):
    """One topic for whoever needs only that it exists."""
    return new_topic()
