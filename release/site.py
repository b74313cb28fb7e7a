"""Put a built documentation site beside those of other versions: `python -m release.site PAGES NAME BUILT`."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from packaging.version import InvalidVersion, Version

_FIRST_PAGE = """<!doctype html>
<meta charset="utf-8">
<title>eosfw</title>
<meta http-equiv="refresh" content="0; url={name}/">
<a href="{name}/">eosfw {name}</a>
"""


def add(pages: Path, name: str, built: Path) -> list[str]:
    """Replace the site of one version, `0.2.0` or `main` say, and the lists of all; give their names in order."""
    shutil.rmtree(pages / name, ignore_errors=True)
    shutil.copytree(built, pages / name)
    names = sorted((path.parent.name for path in pages.glob("*/index.html")), key=_age, reverse=True)
    (pages / "versions.json").write_text(json.dumps(names) + "\n", encoding="utf-8")
    (pages / "index.html").write_text(_FIRST_PAGE.format(name=names[0]), encoding="utf-8")
    # Else GitHub leaves out folders whose names begin with an underscore.
    (pages / ".nojekyll").touch()
    return names


def _age(name: str) -> tuple[bool, Version]:
    """Sorts versions; behind them what is none."""
    try:
        return True, Version(name)
    except InvalidVersion:
        return False, Version("0")


def main() -> None:
    """Add the site that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", type=Path, help="the folder with the sites of all versions")
    parser.add_argument("name", help="the version of the new one")
    parser.add_argument("built", type=Path, help="what tox -e docs has built")
    arguments = parser.parse_args()
    print(*add(arguments.pages, arguments.name, arguments.built))


if __name__ == "__main__":
    main()
