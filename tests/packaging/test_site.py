"""The documentation site of a version is published beside those of the others."""

from __future__ import annotations

import json

import pytest
from release import site


@pytest.fixture
def built(tmp_path):
    """A site as Sphinx builds it, as far as its folders matter."""
    folder = tmp_path / "built"
    (folder / "_static").mkdir(parents=True)
    (folder / "index.html").write_text("new")
    return folder


@pytest.fixture
def pages(tmp_path, built):
    """The sites that are published already."""
    folder = tmp_path / "pages"
    for name in ("0.9.0", "main", "0.10.0"):
        site.add(folder, name, built)
    return folder


def test_versions_are_listed_from_the_newest_and_the_branch_last(pages):
    """As numbers, not as texts."""
    assert json.loads((pages / "versions.json").read_text()) == ["0.10.0", "0.9.0", "main"]


def test_the_first_page_leads_to_the_newest_version(pages):
    """Not to the branch, whose pages are about what is not released."""
    assert 'url=0.10.0/"' in (pages / "index.html").read_text()


def test_a_version_that_is_built_again_replaces_its_own_pages_alone(pages, built):
    """A page that is gone does not stay."""
    (pages / "main" / "gone.html").touch()
    (pages / "0.9.0" / "kept.html").touch()

    site.add(pages, "main", built)

    assert not (pages / "main" / "gone.html").exists()
    assert (pages / "0.9.0" / "kept.html").exists()


def test_a_site_without_a_release_leads_to_the_branch(tmp_path, built):
    """As before the first release."""
    assert site.add(tmp_path / "new", "main", built) == ["main"]
    assert 'url=main/"' in (tmp_path / "new" / "index.html").read_text()
