"""The Java that Spark will start."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NEEDED: Final = 17
ANSWER: Final = 10.0
"""Seconds that `java -version` may take."""
REMEDY: Final = f"install a JDK {NEEDED} or newer, or point JAVA_HOME at one"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java on this machine: its command and its version."""

    command: str
    version: str

    @property
    def major(self) -> int:
        """The major version: 17 for `17.0.15`, and 8 for the older form `1.8.0_402`."""
        numbers = [int(number) for number in re.findall(r"\d+", self.version)]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def java_problem() -> str | None:
    """The reason why Spark cannot start here, with the remedy; None if it can."""
    found = usable_java()
    return None if isinstance(found, Java) else f"Spark needs Java {NEEDED} or later, but {found}: {REMEDY}"


def usable_java() -> Java | str:
    """The Java that Spark will start, or the reason why it cannot be used."""
    home = os.environ.get("JAVA_HOME")
    command = find_java(home)
    if command is None:
        return f"JAVA_HOME={home} holds no bin/java" if home else "there is no java on PATH, and JAVA_HOME is not set"
    found = ask_version(command)
    if found is None:
        return f"{command} does not say its version"
    if found.major < NEEDED:
        source = f" (by JAVA_HOME={home})" if home else ""
        return f"{command}{source} is version {found.version}"
    return found


def find_java(home: str | None) -> str | None:
    """The command that Spark's own scripts choose."""
    if not home:
        return shutil.which("java")
    command = Path(home) / "bin" / "java"
    return str(command) if os.access(command, os.X_OK) else None


def ask_version(command: str) -> Java | None:
    """Ask a Java for its version; None if it gives no readable answer in time."""
    # The output goes to a file: if `java` is a script that is killed, its child would keep a pipe open, and the
    # read would block.
    with tempfile.TemporaryFile() as answer:
        try:
            subprocess.run(
                [command, "-version"],
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=subprocess.STDOUT,
                timeout=ANSWER,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        answer.seek(0)
        found = re.search(r'version "(\d[^"]*)"', answer.read().decode(errors="replace"))
    return Java(command, found[1]) if found else None
