"""A release is made by two commands: a new version, then a build that gives the same bytes each time."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest
from packaging.requirements import Requirement
from release import build, changelog, sbom, set_version
from release.workspace import ROOT, projects, requirements, version

import eosfw

SMALL = "eosfw-opentelemetry"

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A small distribution, built as a release is: once, since the environment `release` compares two builds of all."""
    if shutil.which("uv") is None:
        pytest.skip("needs uv to build; try: pip install uv")
    return build.release(tmp_path_factory.mktemp("releases") / "one", build.SECOND, [SMALL])


@pytest.fixture
def copy(tmp_path):
    """What a new version changes, copied."""
    others = [*set_version.ELSEWHERE, "examples/counter/pyproject.toml", "CHANGELOG.md"]
    for file in [*projects().values(), *(ROOT / name for name in others)]:
        target = tmp_path / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    (tmp_path / "changelog.d").mkdir()
    shutil.copyfile(ROOT / "changelog.d" / "README.md", tmp_path / "changelog.d" / "README.md")
    for name in ("b.fix", "a.fix", "c.breaking"):
        (tmp_path / "changelog.d" / f"{name}.md").write_text(f"About {name}.\nMore.\n")
    return tmp_path


def test_a_file_that_differs_or_is_missing_is_named(tmp_path):
    for name, content in [("a", "1"), ("b", "2")]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.whl").write_text("same")
        (tmp_path / name / "wheel.whl").write_text(content)
    (tmp_path / "b" / "only.tar.gz").write_text("here")

    assert build.differing(tmp_path / "a", tmp_path / "b") == ["only.tar.gz", "wheel.whl"]


def test_a_release_has_distributions_bill_notes_and_the_checksums_of_all(built):
    stem, number = SMALL.replace("-", "_"), version()

    sums = dict(reversed(line.split("  ")) for line in (built / build.SUMS).read_text().splitlines())

    assert set(sums) == {
        f"{stem}-{number}-py3-none-any.whl",
        f"{stem}-{number}.tar.gz",
        f"eosfw-{number}.cdx.json",
        f"eosfw-{number}-notes.md",
    }
    assert sums == {name: hashlib.sha256((built / name).read_bytes()).hexdigest() for name in sums}


def test_the_times_in_a_wheel_are_those_of_the_commit(built):
    """Not of the build; zip files count in steps of two seconds."""
    shown = ["git", "log", "-1", "--format=%cd", "--date=format-local:%Y %m %d %H %M %S"]
    commit = subprocess.run(shown, cwd=ROOT, env={"TZ": "UTC"}, capture_output=True, text=True, check=True).stdout
    (wheel,) = built.glob("*.whl")

    *minute, second = map(int, commit.split())
    times = {member.date_time for member in zipfile.ZipFile(wheel).infolist()}
    assert times == {(*minute, second - second % 2)}


def test_the_bill_of_materials_names_all_that_users_install(built):
    """Every distribution and its dependencies with versions, nothing for development, no address of an index."""
    text = (built / f"eosfw-{version()}.cdx.json").read_text()
    found = {component["name"]: component["version"] for component in json.loads(text)["components"]}

    direct = {Requirement(one).name for file in projects().values() for one in requirements(file)}
    assert direct | set(projects()) <= set(found)
    assert {found[name] for name in projects()} == {version()}
    assert not {"ruff", "mypy", "tox"} & set(found)
    assert "://" not in text


def test_a_bill_of_materials_depends_on_its_content_alone():
    """`uv export` writes a new time and a new serial number each time."""

    def bill(serial, time, found="1.0"):
        component = {"name": "some", "version": found, "externalReferences": [{"url": f"from-{serial}"}]}
        metadata = {"timestamp": time, "component": {"name": "eosfw"}}
        whole = {"serialNumber": serial, "metadata": metadata, "components": [component]}
        return sbom.canonical(json.dumps(whole), "0.2.0", 0)

    assert bill("urn:1", "today") == bill("urn:2", "tomorrow")
    serials = {json.loads(bill("urn:1", "today", found))["serialNumber"] for found in ("1.0", "1.1")}
    assert len(serials) == 2


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    """An upload of the whole folder would publish them."""
    (tmp_path / "mine.whl").write_text("")

    command = [sys.executable, "-m", "release.build", "--output", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "mine.whl" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["mine.whl"]


def test_all_distributions_have_one_version():
    found = {name: tomllib.loads(file.read_text())["project"]["version"] for name, file in projects().items()}

    assert found == dict.fromkeys(projects(), eosfw.__version__)
    assert f"/eosfw-worker:{eosfw.__version__}\n" in (ROOT / "deploy" / "kubernetes.yaml").read_text()


def test_a_new_version_reaches_every_project_and_every_pin(copy):
    set_version.set_version(copy, "9.8.7rc1", "2026-12-24")

    found = projects(copy)
    assert set(found) == set(projects())
    assert {tomllib.loads(file.read_text())["project"]["version"] for file in found.values()} == {"9.8.7rc1"}
    asked = [(name, Requirement(one)) for name, file in found.items() for one in requirements(file)]
    assert {str(one.specifier) for name, one in asked if one.name in set(found) - {name}} == {"==9.8.7rc1"}
    example = (copy / "examples" / "counter" / "pyproject.toml").read_text()
    assert example.count('>=9.8.7rc1"') == 2
    assert 'version = "0.1.0"' in example, "an example has a version of its own"
    assert '__version__ = "9.8.7rc1"' in (copy / "src" / "eosfw" / "__init__.py").read_text()
    assert "/eosfw-worker:9.8.7rc1\n" in (copy / "deploy" / "kubernetes.yaml").read_text()


def test_a_new_version_leaves_the_pins_of_others_alone(copy):
    before = tomllib.loads((copy / "pyproject.toml").read_text())["tool"]

    set_version.set_version(copy, "9.8.7", "2026-12-24")

    assert tomllib.loads((copy / "pyproject.toml").read_text())["tool"] == before


def test_fragments_become_the_top_section_of_the_changelog(copy):
    (copy / "CHANGELOG.md").write_text("# Changelog\n\nAll.\n\n## 0.0.1 (2020-01-01)\n\n- Old.\n")

    set_version.set_version(copy, "9.8.7", "2026-12-24")

    assert (copy / "CHANGELOG.md").read_text() == (
        "# Changelog\n\nAll.\n\n## 9.8.7 (2026-12-24)\n\n"
        "### Breaking changes\n\n- About c.breaking.\n  More.\n\n"
        "### Fixes\n\n- About a.fix.\n  More.\n- About b.fix.\n  More.\n\n"
        "## 0.0.1 (2020-01-01)\n\n- Old.\n"
    )
    assert changelog.fragments(copy) == []
    assert (copy / "changelog.d" / "README.md").exists()


def test_the_first_section_stands_below_the_head_of_the_changelog():
    """Nothing is there yet that it could stand above."""
    assert changelog.with_section("# All\n\nText.\n", "9.8.7", "2026-12-24", "- New.\n") == (
        "# All\n\nText.\n\n## 9.8.7 (2026-12-24)\n\n- New.\n"
    )


def test_a_change_stands_before_the_changes_that_are_named_after_it(tmp_path):
    """So `postgres` is told before its details."""
    (tmp_path / "changelog.d").mkdir()
    for name in ("postgres-columns.feature", "postgres.feature", "posts.feature"):
        (tmp_path / "changelog.d" / f"{name}.md").touch()

    names = [file.name.partition(".")[0] for file in changelog.fragments(tmp_path)]

    assert names == ["postgres", "postgres-columns", "posts"]


def test_the_notes_are_the_same_before_and_after_the_changelog_is_written(copy):
    before = changelog.notes(copy, "9.8.7")

    set_version.set_version(copy, "9.8.7", "2026-12-24")

    assert changelog.notes(copy, "9.8.7") == before
    assert changelog.section((copy / "CHANGELOG.md").read_text(), "9.8.70") == ""


def test_the_notes_of_a_release_with_highlights_show_what_all_have_to_read_and_count_the_rest(copy):
    """Nobody reads hundreds of fixes to find out what a release is for."""
    (copy / "changelog.d" / "1.highlight.md").write_text("What it is for.\n")
    before = changelog.notes(copy, "9.8.7")

    set_version.set_version(copy, "9.8.7", "2026-12-24")

    assert before == (
        "# eosfw 9.8.7\n\n"
        "### In short\n\n- What it is for.\n\n"
        "### Breaking changes\n\n- About c.breaking.\n  More.\n\n"
        "`CHANGELOG.md` has all changes: Fixes (2).\n"
    )
    assert changelog.notes(copy, "9.8.7") == before
    assert "About a.fix." in (copy / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("new", ["1", "v1.2.3", "1.2.3-beta", ""])
def test_what_is_no_version_changes_nothing(copy, new):
    before = {file: file.read_text() for file in projects(copy).values()}

    with pytest.raises(SystemExit, match="no version"):
        set_version.set_version(copy, new, "2026-12-24")

    assert {file: file.read_text() for file in projects(copy).values()} == before
