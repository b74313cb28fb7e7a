"""Servers of the command line may open as many files and connections as the system permits."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from eosfw.cli.open_files import allow_many_files


@pytest.fixture
def hard_limit() -> Iterator[int]:
    """The hard limit of this process, whose soft one is lower for a while."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024) - 1, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_limit_of_open_files_is_raised_as_far_as_it_goes(hard_limit):
    allow_many_files()

    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard_limit, hard_limit)
