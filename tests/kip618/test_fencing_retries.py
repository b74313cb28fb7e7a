"""A fencing that the cluster refuses: for good without an ACL, for a while otherwise."""

from __future__ import annotations

from contextlib import closing

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.runtime.status import TaskState
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Fail

from .group import Group, Served, exactly


@pytest.mark.parametrize("client", ["memory", "confluent", "kafka-python"])
def test_a_fencing_without_acl_names_the_missing_one_and_spares_other_connectors(client):
    """SCN-02, FEN-08: its tasks fail at once, with what to grant; a new start after the grant heals."""
    embedded = EmbeddedCluster.start({}, ThreadRuntime())
    with closing(embedded), Group(Served(embedded.bootstrap_servers, client)) as group:
        group.put(streams="2", until="20", tasks_max="2")
        other = {"connector.class": "counting", "topic": f"{group.name}-other", "until": "40"}
        group.worker.put_connector("other", other)
        group.until_drained()
        denied = f"{group.name}-c-1"
        code = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
        fault = embedded.faults.add(Fail("InitProducerId", code=code, transactional_id=denied, times=1000))
        group.put(streams="2", until="30", tasks_max="2")
        group.until(lambda: len(group.worker.status().failures) == 2, "the failure of both tasks")

        assert fault.fired
        for task in group.worker.status().failures:
            assert f"needs WRITE and DESCRIBE on TransactionalId {denied}" in str(task.error)
        assert {task.state for task in group.worker.status().connectors["other"].tasks} == {TaskState.RUNNING}
        embedded.faults.remove(fault)
        group.put(streams="2", until="30", tasks_max="2")
        group.until_drained()
        assert group.committed() == exactly(2, 30)
