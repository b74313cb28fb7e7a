"""The first steps of a connector's author work outside this repository, with wheels alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

from eosfw import __version__

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TEMPLATES = ROOT / "src" / "eosfw" / "cli" / "new" / "templates"

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def python(fresh, tmp_path_factory):
    """The Python of an author: what `pip install pytest-eos` brings, and the tools that a project asks for."""
    folder = tmp_path_factory.mktemp("author") / "venv"
    return fresh(folder, f"pytest-eos=={__version__}", "ruff", "hatchling==1.33.0", "tox", "tox-uv")


def outcome_of(python, where, *command, **more):
    """A command of that environment, run far from this repository."""
    foreign = ("PYTEST_", "EOS_", "PYTHON", "TOX_", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return subprocess.run(
        [python.with_name(command[0]), *map(str, command[1:])],
        cwd=where,
        env=environment | more,
        capture_output=True,
        text=True,
        check=False,
    )


def successful(python, where, *command, **more):
    done = outcome_of(python, where, *command, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def constraints(folder):
    """A file of the versions that this repository pins."""
    pins = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]["constraint-dependencies"]
    (folder / "pins.txt").write_text("\n".join(pins), encoding="utf-8")
    return folder / "pins.txt"


def zombies(message):
    """How many zombies rose in a run of pytest."""
    return int(re.search(r"^zombies: (\d+) raised", message, re.MULTILINE)[1])


@pytest.fixture
def project(python, tmp_path):
    """A project as the installed command writes it."""
    successful(python, tmp_path, "eosfw", "new", "connector", "acme")
    return tmp_path / "eosfw-acme"


def test_the_wheel_of_the_framework_carries_every_template(wheels):
    """Files that are no modules are easily left out of a wheel."""
    (wheel,) = wheels.glob(f"eosfw-{__version__}-*.whl")

    names = zipfile.ZipFile(wheel).namelist()

    source = {str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.template")}
    assert source
    assert {name.partition("/templates/")[2] for name in names if "/templates/" in name} == source


def test_only_what_pytest_eos_needs_is_there(python):
    """No client, no Spark: an author's first hour needs neither."""
    for module in ("confluent_kafka", "pyspark", "kafka", "eosfw_file", "eosfw_counter"):
        assert outcome_of(python, python.parent, "python", "-c", f"import {module}").returncode == 1


@pytest.mark.parametrize("example", ["counter", "journal"])
def test_an_example_proves_itself(python, tmp_path, example):
    """Examples are no part of the workspace: a copied folder is complete."""
    shutil.copytree(EXAMPLES / example, tmp_path / example, ignore=shutil.ignore_patterns("*cache*"))

    message = successful(python, tmp_path / example, "python", "-m", "pytest")

    assert zombies(message) >= 13


@pytest.mark.parametrize("kind", ["connector", "transform", "converter", "config-provider"])
@pytest.mark.parametrize("name", ["a", "file-tail", "x" * 40])
def test_a_project_is_clean_by_its_own_rules_whatever_its_name(python, tmp_path, kind, name):
    """The first `tox` is green."""
    successful(python, tmp_path, "eosfw", "new", kind, name, "--output", "project")

    checked = successful(python, tmp_path / "project", "ruff", "check", "--no-cache")
    formatted = successful(python, tmp_path / "project", "ruff", "format", "--no-cache", "--check")
    assert "All checks passed!" in checked
    assert "already formatted" in formatted


def test_the_tox_of_a_project_is_green(python, project, wheels, tmp_path):
    """An author's first `tox` shows no fault of ours (meltano/sdk#993): tests as installed, style, types."""
    found = {"UV_FIND_LINKS": str(wheels), "UV_CONSTRAINT": str(constraints(tmp_path))}

    message = successful(python, project, "tox", "run", "-e", "py,lint,types", **found)

    assert f"eos: {__version__} backends=memory spark=missing" in message
    assert zombies(message) >= 13
    assert "Success: no issues found" in message


@pytest.mark.parametrize(
    ("kind", "role"),
    [("transform", "transformation"), ("converter", "converter"), ("config-provider", "config provider")],
)
def test_the_project_of_a_part_proves_itself_and_is_found(python, tmp_path, wheels, kind, role):
    """PLG-19: its tests, which inherit the contract of its role, its types, its entry point."""
    successful(python, tmp_path, "eosfw", "new", kind, "acme")
    project = tmp_path / "eosfw-acme"
    uv, found = shutil.which("uv"), {"UV_FIND_LINKS": str(wheels), "UV_CONSTRAINT": str(constraints(tmp_path))}
    install = [uv, "pip", "install", "--offline", "--no-deps", "--no-build-isolation", "--python", python, project]

    tests = successful(python, project, "python", "-m", "pytest")
    types = successful(python, project, "tox", "run", "-e", "types", **found)
    subprocess.run(install, check=True, capture_output=True)
    try:
        listed = successful(python, project, "eosfw", "plugins")
    finally:
        subprocess.run([uv, "pip", "uninstall", "--python", python, "eosfw-acme"], check=True, capture_output=True)

    assert "Contract)" in (project / "tests" / "test_contract.py").read_text(encoding="utf-8")
    assert " passed" in tests
    assert "Success: no issues found" in types
    assert [*role.split(), "acme", "eosfw-acme", "0.1.0"] in [line.split() for line in listed.splitlines()]


def test_a_project_can_be_installed_then_runs_as_a_pipeline(python, project):
    """Its entry point, its `py.typed`, its pipeline file."""
    uv = shutil.which("uv")
    install = [uv, "pip", "install", "--offline", "--no-deps", "--no-build-isolation", "--python", python, project]
    subprocess.run(install, check=True, capture_output=True)
    try:
        listed = successful(python, project, "eosfw", "plugins")
        summary = successful(python, project, "eosfw", "run", "pipeline.toml", "--quiet")
        again = outcome_of(python, project.parent, "eosfw", "new", "connector", "acme", "--output", "other")
    finally:
        subprocess.run([uv, "pip", "uninstall", "--python", python, "eosfw-acme"], check=True, capture_output=True)

    assert ["connector", "acme", "eosfw-acme", "0.1.0"] in [line.split() for line in listed.splitlines()]
    assert "3000" in summary.replace(",", "")
    assert (again.returncode, again.stdout) == (3, "")
    assert "eosfw-acme 0.1.0 offers a connector of that name" in again.stderr
