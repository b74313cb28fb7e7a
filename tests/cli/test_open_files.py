"""Servers of the command line may open as many files and connections as the system permits."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from eosfw.open_files import allow_many_files


@pytest.fixture
def hard_limit() -> Iterator[int]:
    """The hard limit of this process, whose soft one is lower for a while."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024) - 1, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_system_that_permits_less_than_its_hard_limit_says_gets_what_it_permits(monkeypatch):
    """MacOS names no limit, and refuses more than `kern.maxfilesperproc`; a server starts all the same."""
    asked = []

    def refuse(_: int, limits: tuple[int, int]) -> None:
        asked.append(limits[0])
        if limits[0] > 10_240:
            raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 2**63 - 1))
    monkeypatch.setattr(resource, "setrlimit", refuse)

    allow_many_files()

    assert asked[-1] == 10_240


def test_the_limit_of_open_files_is_raised_as_far_as_it_goes(hard_limit):
    allow_many_files()

    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard_limit, hard_limit)
