"""Which broker's machine can lose power."""

from __future__ import annotations

from contextlib import suppress

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError
from eosfw.security import Address
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.log_errors import KafkaStorageError
from eosfw_memory.faults.machine import Machine
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.broker.settings import Settings
from pytest_eos.virtual import VirtualRuntime

from ..log.log_harness import NOW, plain


@pytest.mark.parametrize("given", [{}, {"log.dirs": "data"}, {"log.flush.interval.messages": "1"}])
def test_power_cuts_need_a_directory_and_a_wait_for_the_disk(given, tmp_path, monkeypatch):
    """Else nothing tells what a cut may take."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"eosfw\.power\.cuts: needs log\.dirs"):
        EmbeddedCluster.start({"listeners": "", "eosfw.power.cuts": "1", **given}, ThreadRuntime())


def test_a_broker_on_a_real_disk_has_no_power_to_cut():
    """What an operating system holds back is out of reach of a process."""
    cluster = EmbeddedCluster.start({"listeners": ""}, ThreadRuntime())
    try:
        with pytest.raises(ConfigError, match=r"was not started with eosfw\.power\.cuts"):
            cluster.faults.add("power-cut", at="after-prepare")
    finally:
        cluster.close()


@pytest.mark.parametrize("seed", range(8))
def test_a_killed_process_ends_once_its_fsync_has_returned(tmp_path, seed):
    """So its failure is known to the next start, which else would confirm what the disk does not have."""
    runtime = VirtualRuntime(str(seed))
    machine = Machine(tmp_path, str(seed), runtime)

    def served(storage):
        broker = Broker(Settings.parse({}), Address("127.0.0.1", 9092), runtime, storage)
        return broker, (broker.topics.by_name("t") or broker.topics.create("t", 1, {})).partitions[0].log

    def flush(broker):
        disk = broker.storage.disk
        with suppress(KafkaStorageError):
            disk.sync(disk.take_unsynced())

    broker, log = served(machine.start())
    log.append(plain(b"unconfirmed"), NOW)
    machine.fault_at = lambda call, _: "EIO" if call == "fsync" else None
    runtime.spawn("flush", lambda: flush(broker))
    runtime.sleep(0)
    machine.fault_at = lambda *_: None

    broker, log = served(machine.start_again(broker))
    log.append(plain(b"confirmed"), NOW)
    flush(broker)
    confirmed = list(log.batches())

    broker, log = served(machine.start_again(broker))
    assert list(log.batches()) == confirmed
    broker.close()
    runtime.close()
