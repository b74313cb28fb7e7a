"""Build every distribution once; make environments that hold only what a test asks for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Fresh = Callable[..., Path]


def uv(*arguments: str | Path) -> None:
    # From the root, so that the workspace's exact pins bind what is installed here as well. First from uv's cache,
    # which spares asking for, and maybe building, what is there already.
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    command = ["uv", *map(str, arguments)]
    for attempt in ([*command, "--offline"], command):
        done = subprocess.run(attempt, cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
        if done.returncode == 0:
            return
    pytest.fail(f"{' '.join(command)}\n{done.stderr}", pytrace=False)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one wheel of each distribution."""
    if shutil.which("uv") is None:
        pytest.skip("needs uv to build and install; try: pip install uv")
    folder = tmp_path_factory.mktemp("wheels")
    uv("build", "--wheel", "--all-packages", "--out-dir", folder)
    return folder


@pytest.fixture(scope="session")
def fresh(wheels: Path) -> Fresh:
    """Call with (folder, requirements...): the Python of a new environment that holds these and what they need.

    Without PySpark, if that is asked for: it unfolds to 1 GB.
    """

    def make(folder: Path, *requirements: str, base: str = sys.executable, spark: bool = True) -> Path:
        python, nowhere = folder / "bin" / "python", folder / "nowhere.txt"
        uv("venv", "--python", base, folder)
        nowhere.write_text("" if spark else "pyspark; python_version < '3'\n")
        places = ["--no-sources", "--find-links", wheels, "--overrides", nowhere]
        uv("pip", "install", "--python", python, *places, *requirements)
        return python

    return make
