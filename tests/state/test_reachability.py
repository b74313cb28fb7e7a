"""A worker that others cannot call says so; one that they can says nothing."""

from __future__ import annotations

import pytest

from eosfw.state.group.reachability import unreachable_text, worker_name

HERE, BESIDE = worker_name("my-host", 17, "0a0b0c"), worker_name("my-host", 18, "1a1b1c")
ELSEWHERE = worker_name("other-host", 17, "2a2b2c")


@pytest.mark.parametrize("url", ["http://127.0.0.1:8083", "http://localhost:8083/", "https://[::1]:8083"])
def test_a_loopback_url_is_of_no_use_to_workers_on_other_machines(url):
    text = unreachable_text(HERE, url, [HERE, BESIDE, ELSEWHERE])

    assert text is not None
    assert f"on other machines (other-host), but this one announces {url}" in text
    assert "rest.advertised.host.name" in text
    # An assignment may not name the worker yet that has just joined.
    joining = unreachable_text(HERE, url, [ELSEWHERE, worker_name("a-host", 17, "3a3b3c")])
    assert "(a-host, other-host)" in str(joining)


@pytest.mark.parametrize(
    ("url", "workers"),
    [
        ("http://127.0.0.1:8083", [HERE, BESIDE]),
        ("http://my-host:8083", [HERE, ELSEWHERE]),
        (None, [HERE]),
        (None, []),
    ],
    ids=["all on one machine", "a name that others know", "alone", "no member yet"],
)
def test_nothing_is_told_where_nothing_is_wrong(url, workers):
    assert unreachable_text(HERE, url, workers) is None


def test_a_worker_without_a_rest_interface_beside_others_is_told():
    assert "has 2 workers, but this one has no REST interface" in (unreachable_text(HERE, None, [HERE, BESIDE]) or "")
