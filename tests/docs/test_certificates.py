"""The page of certificates names every connector of this repository: certified, or why not."""

from __future__ import annotations

import re
import runpy

from tests.docs.pages import ROOT

from eosfw.registry import load_plugins

PAGE = (ROOT / "docs" / "reference" / "certificates.md").read_text(encoding="utf-8")
SOURCES = runpy.run_path(str(ROOT / "docs" / "site" / "eosfw_site" / "certified_sources.py"))["SOURCES"]


def test_every_connector_is_certified_or_the_page_says_why_not() -> None:
    ours = {row.name for row in load_plugins().all() if row.role == "connector" and row.distribution[:6] == "eosfw-"}

    certified = set(re.findall(r"`certificates/([\w-]+)\.html`", PAGE))
    assert certified == set(SOURCES)
    assert certified | set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == ours


def test_each_source_gives_properties_that_its_connector_takes(tmp_path) -> None:
    for name, source in SOURCES.items():
        with source(tmp_path) as properties:
            assert properties.keys() <= {
                *load_plugins().connector(name).config.keys,
                "value.converter",
            }, name
