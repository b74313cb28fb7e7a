"""The embedded broker does not import Hypothesis, even if it is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, sys
import eosfw_memory.client.transport.messages
print('hypothesis' in sys.modules, 'kio.index' in sys.modules)

from eosfw_memory.cluster import EmbeddedCluster
from eosfw.concurrency import ThreadRuntime
EmbeddedCluster.start({}, ThreadRuntime()).close()
print('hypothesis' in sys.modules, 'kio.index' in sys.modules, os.listdir())

import hypothesis.strategies as st
print(st.integers())
"""


def test_client_and_broker_import_no_hypothesis_write_no_files_and_leave_it_importable(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "True", "False", "True", "[]", "integers()"]
