"""The jars of the Spark that is started here."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path


def jar_folder() -> Path:
    """The folder of jars of the Spark that SPARK_HOME names, otherwise of the one that PySpark brings."""
    if home := os.environ.get("SPARK_HOME"):
        return Path(home) / "jars"
    spec = find_spec("pyspark")
    return Path(spec.origin).parent / "jars" if spec is not None and spec.origin else Path("jars")


def has_jar(name: str) -> bool:
    """Whether a jar whose file name begins so is there."""
    return any(jar_folder().glob(f"{name}*.jar"))
