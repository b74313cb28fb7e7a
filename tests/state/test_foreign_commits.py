"""Commits on the config topic by others than the leader are reported; a change of the leader is not taken for one."""

from __future__ import annotations

import pytest

from eosfw.state.storage.config_log import ConnectorEntry
from eosfw.state.storage.foreign_commits import ForeignCommits

GRACE = 10.0
WORKERS = ("a", "b")


def commit(generation: int, writer: str | None) -> dict[str, ConnectorEntry]:
    return {"c": ConnectorEntry(properties={}, generation=generation, committed_by=writer)}


@pytest.fixture
def commits() -> ForeignCommits:
    """After the first look, at which a commit of nobody known was there already."""
    made = ForeignCommits(GRACE)
    assert made.look(commit(0, "before"), WORKERS, "a", 0.0) == []
    return made


@pytest.mark.parametrize(
    ("writer", "who"),
    [("other", "other"), (None, "a writer that does not name itself")],
    ids=["named", "unnamed"],
)
def test_a_commit_of_no_worker_of_the_group_is_reported_at_once(commits, writer, who):
    (reported,) = commits.look(commit(1, writer), WORKERS, "a", 1.0)

    assert reported.startswith(
        f"generation 1 of connector c was committed to the config topic by {who}, which is no worker"
    )


def test_a_commit_of_a_worker_that_does_not_lead_is_reported_once(commits):
    """Not at once: it may have been elected, and its first assignment not be read yet."""
    assert commits.look(commit(1, "b"), WORKERS, "a", 1.0) == []
    assert commits.look({}, WORKERS, "a", 1.0 + GRACE) == []

    (reported,) = commits.look({}, WORKERS, "a", 1.5 + GRACE)

    assert "committed to the config topic by b, which does not lead this group" in reported
    assert commits.look({}, WORKERS, "a", 2.0 + GRACE) == []


@pytest.mark.parametrize("generation", [0, 1], ids=["nothing new", "a commit"])
def test_commits_of_the_leader_are_its_right(commits, generation):
    assert commits.look(commit(generation, "a" if generation else "before"), WORKERS, "a", 1.0) == []
    assert commits.look({}, WORKERS, "a", 100.0) == []


def test_commits_around_a_change_of_the_leader_are_not_reported(commits):
    """A new leader's before its first assignment was read; its predecessor's after that."""
    commits.look(commit(1, "b"), WORKERS, "a", 1.0)
    commits.look({}, WORKERS, "b", 2.0)
    commits.look(commit(2, "a"), WORKERS, "b", 3.0)

    assert commits.look({}, WORKERS, "b", 3.0 + GRACE + 0.5) == []


@pytest.mark.parametrize(("later", "reported"), [(2 * GRACE, 0), (2 * GRACE + 0.5, 1)])
def test_a_leader_keeps_its_right_for_a_while(commits, later, reported):
    """Until those who follow it have read that it leads no more, and its last commit."""
    commits.look({}, WORKERS, "b", 1.0)
    commits.look(commit(1, "a"), WORKERS, "b", 1.0 + later)

    assert len(commits.look({}, WORKERS, "b", 1.5 + later + GRACE)) == reported


def test_a_worker_that_was_busy_for_minutes_takes_no_commit_of_a_leader_for_a_foreign_one(commits):
    """It has not looked meanwhile, so it cannot know when that leader led last."""
    commits.look({}, WORKERS, "a", 1.0)
    assert commits.look(commit(1, "a"), WORKERS, "b", 200.0) == []

    assert commits.look({}, WORKERS, "b", 200.5 + GRACE) == []


def test_each_changed_connector_is_judged_by_its_own_generation(commits):
    """A change without a commit tells nothing, and hides no other."""
    changed = {**commit(0, "before"), "d": ConnectorEntry({}, 1000, committed_by="other")}

    (reported,) = commits.look(changed, WORKERS, "a", 1.0)
    again = commits.look({"d": ConnectorEntry({}, int("1000"), committed_by="other")}, WORKERS, "a", 2.0)

    assert reported.startswith("generation 1000 of connector d")
    assert again == []


def test_a_commit_of_a_leader_of_long_ago_is_reported(commits):
    for second in range(1, 60):
        commits.look({}, WORKERS, "b", float(second))
    commits.look(commit(1, "a"), WORKERS, "b", 60.0)

    assert len(commits.look({}, WORKERS, "b", 60.5 + GRACE)) == 1
