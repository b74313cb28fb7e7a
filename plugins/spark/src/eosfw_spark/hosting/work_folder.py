"""The folder that executors of `local-cluster` leave in Spark's installation."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path


class WorkFolder:
    """The files of one application's executors; `delete` is for the end, when they have ended."""

    def __init__(self, spark_home: Path, application: str) -> None:
        self.path = spark_home / "work" / application

    def delete(self) -> None:
        """Delete them, and the folder around them if it holds nothing else."""
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):  # others run, or have run, there
            self.path.parent.rmdir()
