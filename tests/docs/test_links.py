"""Every link leads somewhere, every page can be found."""

from __future__ import annotations

import os.path
import re

import pytest
from tests.docs.pages import PAGES, ROOT, anchors, links


def leads_to(page, target):
    """The file and the anchor that a relative link of a page means."""
    path, _, anchor = target.partition("#")
    return os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page, anchor


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page):
    """A file that exists, a heading that is there."""
    for link in links(page):
        if link.target.startswith(("https://", "mailto:")):
            continue
        assert not link.target.startswith("http://"), f"{page}:{link.line}: {link.target}"
        path, anchor = leads_to(page, link.target)
        assert (ROOT / path).exists(), f"{page}:{link.line}: there is no {path}"
        assert not anchor or anchor in anchors(path), f"{page}:{link.line}: {path} has no heading #{anchor}"


def test_every_page_is_linked_from_the_index():
    """Readers find no page that the index does not list, and the site has no place for it."""
    listed = {leads_to("docs/README.md", link.target)[0] for link in links("docs/README.md")}

    assert set(PAGES) - listed == {"docs/README.md", "README.md", "changelog.d/README.md"}


@pytest.mark.parametrize("page", PAGES)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(page):
    """A bar within a cell would cut the rest of it off, silently."""
    width = 0
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1):
        bars = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        width = width or bars if bars else 0
        assert bars == width, f"{page}:{number}: {bars - 1} cells in a table of {width - 1}"
