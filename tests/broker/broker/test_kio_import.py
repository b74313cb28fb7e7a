"""The embedded broker does not import Hypothesis, even if it is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BROKER = """
from eosfw_memory.cluster import EmbeddedCluster
from eosfw.concurrency import ThreadRuntime
EmbeddedCluster.start({}, ThreadRuntime()).close()
"""
CLIENT = "import eosfw_memory.client.transport.messages\n"


@pytest.mark.parametrize("doing", [BROKER, CLIENT], ids=["broker", "client"])
def test_the_embedded_broker_imports_no_hypothesis_and_writes_no_files(doing: str, tmp_path: Path) -> None:
    code = f"{doing}\nimport sys\nprint('hypothesis' in sys.modules, 'kio.index' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
    assert list(tmp_path.iterdir()) == []


def test_hypothesis_can_be_imported_after_the_embedded_broker(tmp_path: Path) -> None:
    code = f"{BROKER}\nimport hypothesis.strategies as st\nprint(st.integers())"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "integers()"
