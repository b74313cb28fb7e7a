"""Requests in a group of several workers: what only the leader does, and what each worker does for its own tasks."""

from __future__ import annotations

import pytest
from tests.herder.test_connector_requests import COUNTING, states, until_states

from eosfw.errors import NotAssignedError, NotLeaderError, RequestRefusedError
from eosfw.ids import ConnectorTaskId
from eosfw.protocols.herder import ConnectorOffset, InternalRequest
from eosfw.runtime import DistributedHerder
from pytest_eos.runs.groups.herders import HerderGroup


def put(herder: DistributedHerder, tasks: int, name: str = "c") -> None:
    """Create or change a connector that counts for ever."""
    herder.put_connector(name, {**COUNTING, "streams": str(tasks), "tasks.max": str(tasks)})


def running(herder: DistributedHerder) -> set[ConnectorTaskId]:
    """The tasks of one worker that poll."""
    return {task.id for task in herder.worker_status().tasks if task.state.name == "RUNNING"}


def leader(group: HerderGroup) -> str:
    """The name of the worker that leads."""
    (name,) = [name for name, herder in group.workers.items() if herder.leads()]
    return name


def until_shares(group: HerderGroup, **wanted: int) -> None:
    """Wait until each worker runs so many tasks, and every task runs once."""

    def settled() -> bool:
        found = {name: running(herder) for name, herder in group.workers.items()}
        counts = {name: len(tasks) for name, tasks in found.items()}
        return counts == wanted and len(set().union(*found.values())) == sum(wanted.values())

    group.until(settled, f"shares {wanted}", 60.0)


def two_workers(group: HerderGroup, tasks: int = 2) -> tuple[DistributedHerder, DistributedHerder]:
    """A leader and a follower that share the tasks of a connector."""
    for name in ("a", "b"):
        group.start(name)
    first = leader(group)
    put(group.workers[first], tasks)
    until_shares(group, a=tasks // 2, b=tasks // 2)
    return group.workers[first], group.workers["b" if first == "a" else "a"]


def test_follower_names_the_leader_for_what_it_may_not_do(group):
    """FEN-02: fencing is among it. The REST interface forwards such requests to the URL."""
    leading, follower = two_workers(group)
    refused = {
        "Only the leader can set connector configs.": [
            lambda: follower.put_connector("d", COUNTING),
            lambda: follower.patch_connector("c", {"batch": "2"}),
        ],
        "Only the leader can delete connector configs.": [lambda: follower.delete_connector("c")],
        "Only the leader can transition connectors to the STOPPED state.": [lambda: follower.stop_connector("c")],
        "Only the leader can process restart requests.": [
            lambda: follower.restart_connector("c"),
            lambda: follower.restart_connector_and_tasks("c", only_failed=False, include_tasks=True),
        ],
        "Only the leader can process external offsets modification requests": [
            lambda: follower.reset_offsets("c"),
            lambda: follower.alter_offsets("c", [ConnectorOffset({"stream": "s0"}, {"next": 1})]),
        ],
        "Only the leader may write task configurations.": [lambda: follower.put_task_configs("c", list, None)],
        "Only the leader may perform zombie fencing.": [lambda: follower.fence_zombies("c", None)],
    }
    for text, requests in refused.items():
        for request in requests:
            with pytest.raises(NotLeaderError) as raised:
                request()
            assert (str(raised.value), raised.value.url) == (text, leading.leader_url())


def test_task_is_restarted_by_the_worker_that_runs_it(group):
    """FEN-14: the leader names the owner, a follower names the leader."""
    leading, follower = two_workers(group)
    (own,), (other,) = running(follower), running(leading)
    with pytest.raises(NotAssignedError) as assigned:
        leading.restart_task(own)
    follower_url = {one.url for one in group.network.servers.values()} - {leading.leader_url()}
    assert {assigned.value.url} == follower_url
    with pytest.raises(NotLeaderError) as led:
        follower.restart_task(other)
    assert led.value.url == leading.leader_url()
    follower.restart_task(own)
    group.until(lambda: running(follower) == {own}, "the restarted task")
    assert (len(follower.worker_status().retired), len(leading.worker_status().retired)) == (1, 0)


def test_pause_by_a_follower_reaches_the_tasks_of_all_workers(group):
    """LDR-03: any worker may write a target state."""
    leading, follower = two_workers(group)
    follower.pause_connector("c")
    until_states(leading, group, "PAUSED", ["PAUSED", "PAUSED"])
    follower.resume_connector("c")
    until_states(follower, group, "RUNNING", ["RUNNING", "RUNNING"])


def test_restart_of_all_tasks_is_done_by_each_worker_for_its_own(group):
    """KIP-745, KAFKA-13719."""
    leading, follower = two_workers(group, tasks=4)
    leading.restart_connector_and_tasks("c", only_failed=False, include_tasks=True)
    group.until(lambda: all(len(one.worker_status().retired) == 2 for one in (leading, follower)), "four restarts")
    until_states(leading, group, "RUNNING", ["RUNNING"] * 4)


def test_followers_task_is_fenced_by_a_signed_request_to_the_leader(group):
    """FEN-08: the leader refuses the same request a second time, and a copy without signature."""
    leading, _ = two_workers(group)
    server = group.network.servers[str(leading.leader_url())]
    (request,) = [one for one in server.requests if one.path == "/connectors/c/fence"]
    assert request.method == "PUT"
    with pytest.raises(RequestRefusedError, match="received before") as replayed:
        leading.fence_zombies("c", request)
    assert replayed.value.status == 403
    with pytest.raises(RequestRefusedError, match="missing required signature") as unsigned:
        leading.fence_zombies("c", InternalRequest("PUT", request.path, b"", {}))
    assert unsigned.value.status == 400


def test_a_request_captured_before_a_worker_started_anew_is_refused(group):
    """SEC-02: its nonces are forgotten, but it has another name, which the signature covers."""
    leading, _ = two_workers(group)
    name = leader(group)
    (request,) = [
        one for one in group.network.servers[str(leading.leader_url())].requests if one.path.endswith("/fence")
    ]

    group.stop(name)
    again = group.start(name)
    with pytest.raises(RequestRefusedError, match="before this one was started") as refused:
        again.fence_zombies("c", request)

    assert refused.value.status == 403


def test_worker_without_rest_interface_says_what_it_lacks(group, caplog):
    """FEN-16: its tasks fail with the reason, those of others run; alone it would lack nothing."""
    group.start("a")
    put(group.workers["a"], 2)
    until_shares(group, a=2)
    lonely = group.start("b", rest=False)
    group.until(lambda: bool(lonely.worker_status().failures), "a task that cannot start")
    (failed,) = lonely.worker_status().failures
    assert "This worker is not able to communicate with the leader of its group" in str(failed.error)
    assert "pip install 'eosfw[rest]'" in str(failed.error)
    (warning,) = [one for one in caplog.messages if "has no REST interface" in one]
    assert "the group has 2 workers" in warning
    group.until(lambda: (states(group.workers["a"]) or ("", []))[1].count("RUNNING") == 1, "the leader's own task")
