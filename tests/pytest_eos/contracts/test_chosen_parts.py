"""Parts of third parties are chosen by a property, and used wherever their role is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.child_pytest import WITHOUT_PLUGINS
from tests.pytest_eos.distributions import eosfw, installed_entry_point

__all__ = ["installed_entry_point"]  # a fixture
EXAMPLES = Path(__file__).parents[3] / "examples"
PARTS = {
    "signed": "signed-offsets",
    "audited": "audited-fencing",
    "masked": "masked-reader",
    "secrets": "command-secrets",
    "readiness": "readiness-route",
    "metrics_file": "metrics-file",
    "tuning": "tuning-policy",
}
PIPELINE = """\
[cluster]
backend = "memory"
[worker]
"group.id" = "g"
{chosen}
[connectors.people]
"connector.class" = "file"
file = "people.jsonl"
format = "jsonl"
topic = "people"
"eosfw.identity" = "{identity}"
"""
SIGNED = """"offset.store" = "signed"\n"offset.store.key.file" = "offsets.key"\n"""
MASKED = """"isolation.reader" = "masked"\n"isolation.reader.fields" = "email"\n"""


@pytest.fixture
def example(installed_entry_point):
    """Install one of the examples; run Python with it."""

    def install(name):
        module = (EXAMPLES / PARTS[name] / f"eosfw_{name}.py").read_text()
        return installed_entry_point(f"eosfw-{name}", f"eosfw_{name}", module)

    return install


def write(folder, chosen, identity="headers"):
    (folder / "people.jsonl").write_text("".join(f'{{"id": {n}, "email": "{n}@example.org"}}\n' for n in range(3)))
    (folder / "offsets.key").write_text("a secret of 16 bytes or more")
    (folder / "pipeline.toml").write_text(PIPELINE.format(chosen=chosen, identity=identity))
    return "pipeline.toml"


@pytest.mark.ci
def test_third_party_parts_keep_their_contracts_where_they_were_chosen(example, tmp_path):
    """Their own tests, as an author runs them: each part is found by its entry point, chosen by its property."""
    files = [f"test_{name}.py" for name in PARTS]
    for name, file in zip(PARTS, files, strict=True):
        python = example(name)
        (tmp_path / file).write_text((EXAMPLES / PARTS[name] / file).read_text())

    ran = python("-m", "pytest", "-pno:cacheprovider", *WITHOUT_PLUGINS, *files)

    assert ran.returncode == 0, ran.stdout
    assert [file for file in files if file not in ran.stdout] == []


def test_a_run_reads_and_verifies_with_the_store_that_was_chosen(example, tmp_path):
    """OFF-01: also its replay, which would not understand the offsets otherwise."""
    ran = eosfw(example("signed"), "run", write(tmp_path, SIGNED))

    assert ran.returncode == 0, ran.stderr
    assert "verified: 0 duplicates, 0 missing" in ran.stdout


def test_a_verdict_counts_what_the_chosen_reader_shows(example, tmp_path):
    """Records with a masked identity cannot be distinguished, which shows that the chosen reader was used."""
    python = example("masked")

    by_id = eosfw(python, "run", write(tmp_path, MASKED, "field:id"))
    by_email = eosfw(python, "run", write(tmp_path, MASKED, "field:email"))

    assert by_id.returncode == 0, by_id.stderr
    assert "verified: 0 duplicates, 0 missing" in by_id.stdout
    assert by_email.returncode == 1
    assert "3 missing" in by_email.stdout


STEP = """
[[steps]]
name = "addresses"
inputs.people = { topic = "people", format = "json", schema = "id INT, email STRING" }
sql = "SELECT email, count(*) AS people FROM people GROUP BY email"
output = "addresses"
"""


@pytest.mark.spark
@pytest.mark.ci
@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_step_sees_what_the_chosen_reader_shows(example, tmp_path):
    """In Spark's own workers, which find the reader by its entry point as everybody does."""
    file = tmp_path / write(tmp_path, MASKED)
    file.write_text(file.read_text() + STEP)

    ran = eosfw(example("masked"), "run", file.name)

    assert ran.returncode == 0, ran.stderr
    from pyarrow import parquet

    assert parquet.read_table(tmp_path / "addresses").to_pylist() == [{"email": "***", "people": 3}]


def test_a_part_that_cannot_be_used_is_refused_before_anything_starts(example, tmp_path):
    """Exit code 3; the nearest name where one is misspelt."""
    ran = eosfw(example("signed"), "run", "--check", write(tmp_path, 'fencer = "admn"\n"offset.store" = "signed"'))

    assert ran.returncode == 3
    assert "[worker]: fencer: no fencer 'admn'; installed: admin. Did you mean 'admin'?" in ran.stderr
    assert 'Missing required configuration "offset.store.key.file"' in ran.stderr
    assert "Traceback" not in ran.stderr
