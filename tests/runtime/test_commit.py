"""`GET /` shows the commit that eosfw was built from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from eosfw import commit

HERE = Path(__file__).parent


def git(folder: Path, *arguments: str) -> str:
    """What git answers, with an author that no configuration needs to tell."""
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    return subprocess.run(["git", "-C", folder, *author, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The package installed below somebody's checkout."""
    package = tmp_path / "venv" / "eosfw"
    package.mkdir(parents=True)
    monkeypatch.setattr(commit, "__file__", str(package / "commit.py"))
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "-m", "theirs")
    return package


def test_a_checkout_tells_its_own_commit() -> None:
    assert commit.commit_id() == git(HERE, "rev-parse", "HEAD")[:16]


def test_what_the_build_has_written_is_told_wherever_it_is_installed(installed: Path) -> None:
    (installed / "commit.txt").write_text("0123456789abcdef0123456789abcdef01234567\n")

    assert commit.commit_id() == "0123456789abcdef"


def test_the_commit_of_another_project_is_not_told(installed: Path) -> None:
    """An environment often lies in the checkout of the project that uses eosfw."""
    assert commit.commit_id() == "unknown"
