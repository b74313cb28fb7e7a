"""Pages answer while workers of the group are frozen, killed and started again (UIC-07)."""

from __future__ import annotations

import time

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.registry import load_plugins

from .browser import Browser
from .worker_group import SESSION, all_in, create_file_connector, worker_group

LONGEST = 15.0
"""Seconds for a page on a busy machine; a worker that waits for a frozen one, without an end, takes longer."""
CONNECTORS = ("orders", "payments", "returns")
PAGES = ("/ui", *(f"/ui/connectors/{name}" for name in CONNECTORS), "/ui/transactions", "/ui/timeline")


@pytest.fixture
def group(tmp_path):
    cluster = load_plugins().cluster("memory").start({}, ThreadRuntime())
    with worker_group(cluster.bootstrap_servers, tmp_path) as workers:
        for name in CONNECTORS:
            create_file_connector(workers[0], tmp_path, name)
        running = 2 * len(CONNECTORS)  # the connector and its task
        workers[0].until("/connectors?expand=status", lambda found: str(found).count("'RUNNING'") == running)
        yield workers
    cluster.close()


def pages(worker) -> list[str]:
    """All pages of a worker, each within a bounded time."""
    found = []
    for path in PAGES:
        began = time.monotonic()
        answer = Browser(worker.url).get(path)
        taken = time.monotonic() - began
        assert answer.status == 200, f"{path}: {answer.status} {answer.text}"
        assert taken < LONGEST, f"{path} took {taken:.1f} s"
        found.append(answer.text)
    return found


def group_pages(workers) -> dict[str, list[str]]:
    """By the URL of each worker that answers."""
    return {worker.url: pages(worker) for worker in workers}


@pytest.mark.ci
@pytest.mark.timeout(400)
def test_pages_of_the_others_answer_while_a_worker_is_frozen_or_gone(group):
    """Each worker in turn, so the leader too."""
    group_pages(group)  # the first of each worker imports what it shows
    for victim in group:
        others = [worker for worker in group if worker is not victim]
        tasks = {one["url"]: one["tasks"] for one in victim.call("/group")["workers"]}
        assert tasks[victim.url], "a worker without tasks is asked nothing"

        began = time.monotonic()
        victim.freeze()
        frozen = group_pages(others)
        # A machine that is slow enough lets its session end meanwhile, and its tasks go on elsewhere.
        if time.monotonic() - began < SESSION / 2:
            for texts in frozen.values():
                assert sum(f"{victim.url} does not answer" in text for text in texts) == len(tasks[victim.url])
        victim.thaw()
        all_in(group)
        victim.kill()
        group_pages(others)
        victim.start()
        all_in(group)
        until_heard(group)


def until_heard(group) -> None:
    """Wait until each page has the numbers of all workers again."""
    deadline = time.monotonic() + 60
    while any("does not answer" in text for texts in group_pages(group).values() for text in texts):
        assert time.monotonic() < deadline
        time.sleep(0.5)
