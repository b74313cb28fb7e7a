"""The commit that eosfw was built from (Kafka's `AppInfoParser.getCommitId`)."""

from __future__ import annotations

import subprocess
from pathlib import Path

_FILE = "commit.txt"
"""In the package; the build writes it."""
_DIGITS = 16
_GIT_TIMEOUT = 10.0


def commit_id() -> str:
    """What the build has written, else the commit of the checkout that eosfw runs from, else `unknown`."""
    package = Path(__file__).parent
    built = package / _FILE
    found = built.read_text(encoding="ascii") if built.is_file() else _checked_out(package)
    return found.strip()[:_DIGITS] or "unknown"


def _checked_out(package: Path) -> str:
    command = ["git", "-C", str(package), "rev-parse", "--show-toplevel", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_GIT_TIMEOUT)
    except (OSError, subprocess.SubprocessError):
        return ""
    root, commit = found.stdout.splitlines()
    # An environment may lie in the checkout of another project, whose commit says nothing about eosfw.
    return commit if Path(root, "src", "eosfw").resolve() == package.resolve() else ""
