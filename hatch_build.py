"""Write the commit of the checkout into the package when it is built."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILE = "eosfw/commit.txt"


class CommitHook(BuildHookInterface):  # type: ignore[misc,unused-ignore]
    """A hook of hatchling, for wheels and source distributions; a source distribution has the file already."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Have the file included, if this is a checkout; an editable installation asks git when it runs."""
        commit = "" if version == "editable" else self._commit()
        if commit:
            self._folder = tempfile.TemporaryDirectory()
            made = Path(self._folder.name, "commit.txt")
            made.write_text(commit, encoding="ascii")
            build_data["force_include"][str(made)] = FILE if self.target_name == "wheel" else f"src/{FILE}"

    def _commit(self) -> str:
        command = ["git", "-C", self.root, "rev-parse", "--show-toplevel", "HEAD"]
        try:
            found = subprocess.run(command, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return ""
        top, commit = found.stdout.splitlines()
        # A source distribution may be unpacked within the checkout of another project.
        return commit if Path(top).resolve() == Path(self.root).resolve() else ""
