"""Third-party parts register by the same entry points; missing capabilities are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.child_pytest import WITHOUT_PLUGINS
from tests.pytest_eos.distributions import eosfw, installed_entry_point

__all__ = ["installed_entry_point"]  # a fixture
SLOW = Path(__file__).parents[3] / "examples" / "slow-backend"
PLAIN = """\
from eosfw import hookimpl
from eosfw.capabilities import Capabilities
from eosfw_memory.client.backend import MemoryBackend

class PlainBackend(MemoryBackend):
    name, capabilities = "plain", Capabilities(read_committed=True)

@hookimpl
def eosfw_backends():
    return [PlainBackend]
"""
PIPELINE = """\
[cluster]
backend = "{backend}"
[worker]
"group.id" = "g"
{worker}
[connectors.lines]
"connector.class" = "file"
file = "lines.txt"
topic = "lines"
"""


def write(folder, backend, worker=""):
    (folder / "lines.txt").write_text("a\nb\n")
    (folder / "pipeline.toml").write_text(PIPELINE.format(backend=backend, worker=worker))
    return "pipeline.toml"


def test_a_backend_that_lacks_transactions_is_refused_with_what_it_lacks(installed_entry_point, tmp_path):
    """HOOK: by the capability it declares, before anything starts; exit code 3."""
    ran = eosfw(installed_entry_point("acme-plain", "acme_plain", PLAIN), "run", write(tmp_path, "plain"))

    assert ran.returncode == 3
    assert "backend 'plain' cannot run exactly once: it lacks transactions" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_test_over_a_backend_that_lacks_transactions_is_refused(installed_entry_point, tmp_path):
    """The fixture says it before a worker starts, with the backends that can."""
    (tmp_path / "test_it.py").write_text("def test_it(eos): eos.run('file', {'file': 'lines.txt'})\n")

    ran = installed_entry_point("acme-plain", "acme_plain", PLAIN)(
        "-m", "pytest", "-pno:cacheprovider", *WITHOUT_PLUGINS, "--eos-backend=plain"
    )

    assert ran.returncode == 1
    assert "backend 'plain' lacks transactions, which this test needs; backends that can: " in ran.stdout


@pytest.mark.ci
def test_a_wrapping_backend_keeps_every_promise_of_a_backend(installed_entry_point, tmp_path):
    """Its own tests, as its author runs them: the contracts, and zombies."""
    (tmp_path / "test_slow.py").write_text((SLOW / "test_slow.py").read_text())

    python = installed_entry_point("eosfw-slow", "eosfw_slow", (SLOW / "eosfw_slow.py").read_text())
    ran = python("-m", "pytest", "-pno:cacheprovider", *WITHOUT_PLUGINS, "-q", "-rs", "test_slow.py")

    assert ran.returncode == 0, ran.stdout
    assert "zombies: 3 raised" in ran.stdout
    # It declares whatever memory does: left out is only how a backend refuses what it lacks.
    reasons = [line for line in ran.stdout.splitlines() if line.startswith("SKIPPED")]
    assert all("backend 'slow' declares" in reason for reason in reasons), reasons
