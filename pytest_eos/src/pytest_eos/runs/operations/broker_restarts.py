"""The restarts of the broker of a run, for the checker."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from eosfw.ids import TopicPartition
from eosfw.test_support import BrokerRestart, RestartInspection
from pytest_eos.runs.operations.operation import Fields, operation
from pytest_eos.runs.run import Run

_BROKER = "broker"


class RestartOperations:
    """Operations of the restarts of a broker that the test itself serves; of another one nothing is known."""

    def __init__(self, run: Run, partitions: Collection[TopicPartition], since: float) -> None:
        local: object = run.eos.cluster.local
        self._left: Sequence[BrokerRestart] = local.restarts if isinstance(local, RestartInspection) else ()
        self._partitions, self._since = partitions, since

    def declared(self) -> Iterator[Fields]:
        """What acknowledged records outlive."""
        if self._left:
            yield operation(_BROKER, "durability", val="power" if self._left[0].waits_for_disk else "process")

    def up_to(self, time: float) -> Iterator[Fields]:
        """The restarts that came next, up to this time."""
        while self._left and self._left[0].at <= time:
            restart, self._left = self._left[0], self._left[1:]
            at = max(0.0, restart.at - self._since)
            yield operation(_BROKER, "crash", val="power" if restart.power_cut else "process", t=at)
            for partition in sorted(restart.before):
                before, after = restart.before[partition], restart.after.get(partition, "")
                if partition in self._partitions or before != after:
                    part = f"{partition.topic}-{partition.partition}"
                    yield operation(_BROKER, "state", "invoke", part=part, val=before, t=at)
                    yield operation(_BROKER, "state", part=part, val=after, t=at)
