"""Install modules as third-party distributions, found by their entry points."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import installation


@pytest.fixture
def installed_entry_point(tmp_path):
    """Install a module as a distribution of its own that lives as long as the test; run Python with it."""
    site = tmp_path / "site"

    def install(distribution, module, text):
        installation.install(site, distribution, f"[eosfw]\nentry = {module}\n")
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
