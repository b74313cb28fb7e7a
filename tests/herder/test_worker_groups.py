"""Groups of several workers: who leads, who runs what, and what happens when one of them goes."""

from __future__ import annotations

from eosfw.ids import ConnectorTaskId
from eosfw.runtime import DistributedHerder
from pytest_eos.herders import HerderGroup

SESSION, DELAY = 10.0, 300.0
COUNTING = {"connector.class": "counting", "topic": "counts", "until": "1000000"}


def put(herder: DistributedHerder, tasks: int, name: str = "c") -> None:
    """Create or change a connector that counts for ever."""
    herder.put_connector(name, {**COUNTING, "streams": str(tasks), "tasks.max": str(tasks)})


def running(herder: DistributedHerder) -> set[ConnectorTaskId]:
    """The tasks of one worker that poll."""
    return {task.id for task in herder.worker_status().tasks if task.state.name == "RUNNING"}


def shares(group: HerderGroup) -> dict[str, int]:
    """How many tasks each worker runs."""
    return {name: len(running(herder)) for name, herder in sorted(group.workers.items())}


def leader(group: HerderGroup) -> str:
    """The name of the worker that leads."""
    (name,) = [name for name, herder in group.workers.items() if herder.leads()]
    return name


def until_shares(group: HerderGroup, patience: float = 60.0, **wanted: int) -> None:
    """Wait until each worker runs so many tasks, and every task runs once."""

    def settled() -> bool:
        tasks = [task for herder in group.workers.values() for task in running(herder)]
        return shares(group) == wanted and len(tasks) == len(set(tasks))

    try:
        group.until(settled, f"shares {wanted}", patience)
    except AssertionError as error:
        statuses = {name: [str(task) for task in one.worker_status().tasks] for name, one in group.workers.items()}
        raise AssertionError(f"{error}; there are {shares(group)}: {statuses}") from error


def started(group: HerderGroup, *names: str, tasks: int) -> None:
    """Start workers, and a connector on them."""
    for name in names:
        group.start(name)
    put(group.workers[leader(group)], tasks)
    each, rest = divmod(tasks, len(names))
    assert not rest
    until_shares(group, **dict.fromkeys(names, each))


def test_three_workers_share_the_tasks(group):
    """One leads, any knows it."""
    started(group, "a", "b", "c", tasks=6)

    assert {herder.leader_url() for herder in group.workers.values()} == {f"http://{leader(group)}:8083"}


def test_a_joining_worker_gets_its_share_and_nothing_else_moves(group):
    """KIP-415: the tasks that stay are not even restarted."""
    started(group, "a", "b", tasks=6)
    before = {name: running(herder) for name, herder in group.workers.items()}

    group.start("c")
    until_shares(group, a=2, b=2, c=2)

    for name, tasks in before.items():
        worker = group.workers[name].worker_status()
        assert running(group.workers[name]) < tasks
        assert len(worker.retired) + len(worker.zombies) == 1
