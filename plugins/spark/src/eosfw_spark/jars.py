"""The jars of the Spark that is started here, or runs already."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_SETTINGS = ("spark.jars", "spark.jars.packages")


def missing_jar(name: str, coordinates: str) -> str | None:
    """What to do about a jar whose file name begins so; None if Spark has it. Coordinates have VERSION, MINOR of Spark.

    Sessions that are started here take their settings from `spark-defaults.conf`, as any other.
    """
    if any(jar_folder().glob(f"{name}*.jar")) or name in _settings():
        return None
    spark = _spark_version()
    wanted = coordinates.replace("VERSION", spark).replace("MINOR", spark.rpartition(".")[0])
    return (
        f"needs {name}, which Spark does not bring: set spark.jars.packages to {wanted} in spark-defaults.conf in the"
        f" folder that SPARK_CONF_DIR names, or put its jars into {jar_folder()}"
    )


def jar_folder() -> Path:
    """The jars of the Spark that would be started."""
    return spark_home() / "jars"


def spark_home() -> Path:
    """The Spark that SPARK_HOME names, otherwise the one that PySpark brings."""
    if home := os.environ.get("SPARK_HOME"):
        return Path(home)
    spec = find_spec("pyspark")
    return Path(spec.origin).parent if spec is not None and spec.origin else Path()


def running_session() -> Any:
    """The session that runs in this process; None without one, and PySpark is not imported to find out."""
    return sys.modules["pyspark.sql"].SparkSession.getActiveSession() if "pyspark.sql" in sys.modules else None


def _settings() -> str:
    """What the running session, else the one to come, is told of jars."""
    running = running_session()
    if running is not None:
        return " ".join(running.conf.get(name, "") for name in _SETTINGS)
    file = Path(os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf") / "spark-defaults.conf"
    lines = file.read_text().splitlines() if file.is_file() else []
    return " ".join(line for line in lines if line.strip().startswith("spark.jars"))


def _spark_version() -> str:
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return "VERSION"
