"""Write docs/reference/rights.md from the broker's table of rights; a test finds the page out of date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from eosfw_memory.server.protocol.rights import RIGHTS
from eosfw_memory.server.security.acl.right import Right

PAGE = Path(__file__).with_name("rights.md")
HEAD = """# Rights of each request

With `authorizer.class.name` the embedded broker checks these rights, as Apache Kafka 4.1 does; a test compares the
table with what the broker asks for, and [its answers with Kafka's](conformance.md#rights). Who may Read, Write, Delete
or Alter a resource may Describe it; who may AlterConfigs may DescribeConfigs. This page is made by
`python docs/reference/rights_page.py`.

| request | rights |
|---|---|
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_rows())


def _rows() -> Iterator[str]:
    for request, rights in RIGHTS.items():
        yield f"| {request} | {_text(rights)} |\n"


def _text(rights: Mapping[Right, str]) -> str:
    named = (f"{right} ({when})" if when else str(right) for right, when in rights.items())
    return "; ".join(named) or "none"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
