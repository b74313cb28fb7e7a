"""Find the Java that Spark will start, before Spark does."""

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
"""Seconds that a Java may take to say its version."""
REMEDY: Final = f"install a JDK {NEEDED} or newer, or point JAVA_HOME at one"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java on this machine: its command, its version as it names it."""

    command: str
    version: str

    @property
    def major(self) -> int:
        """17 of `17.0.15`; 8 of the older spelling `1.8.0_402`."""
        numbers = [int(number) for number in re.findall(r"\d+", self.version)]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def java_problem() -> str | None:
    """What keeps Spark from starting here, in one sentence with its remedy; None if nothing does."""
    found = usable_java()
    return None if isinstance(found, Java) else f"Spark needs Java {NEEDED} or later, but {found}: {REMEDY}"


def usable_java() -> Java | str:
    """The Java that Spark will start, or why that one cannot be used."""
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
    """Ask a Java for its version; None when it gives no sensible answer in time."""
    # Into a file: what a script started would keep a pipe open, and us waiting, after the script was killed.
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
