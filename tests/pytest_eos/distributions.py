"""Install modules as third-party distributions, found by their entry points."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.fixture
def installed_entry_point(tmp_path):
    """Install a module as a distribution of its own that lives as long as the test; run Python with it."""
    site = tmp_path / "site"

    def install(distribution, module, text):
        info = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[eosfw]\nentry = {module}\n")
        (site / f"{module}.py").write_text(text)

        def python(*arguments):
            return subprocess.run(
                [sys.executable, *arguments],
                env={**os.environ, "PYTHONPATH": str(site)},
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )

        return python

    return install


def eosfw(python, *arguments):
    return python("-c", "import sys; from eosfw.cli import main; main(sys.argv[1:])", *arguments)
