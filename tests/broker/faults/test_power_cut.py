"""Which broker's machine can lose power."""

from __future__ import annotations

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError
from eosfw_memory.cluster import EmbeddedCluster


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
