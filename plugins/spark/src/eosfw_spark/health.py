"""Whether Spark can start here, found out without starting it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from eosfw.health import Finding, Health
from eosfw_spark.java import NEEDED, REMEDY, Java, usable_java


def findings() -> list[Finding]:
    """What Spark needs on this machine besides its package."""
    return [_java(), *_home(), _workers()]


def _java() -> Finding:
    found = usable_java()
    if isinstance(found, Java):
        home = os.environ.get("JAVA_HOME")
        return Finding("Java", Health.FINE, f"{found.version} at {found.command}{', by JAVA_HOME' if home else ''}")
    return Finding("Java", Health.BROKEN, f"Spark needs Java {NEEDED} or later, but {found}", REMEDY)


def _home() -> list[Finding]:
    home = os.environ.get("SPARK_HOME")
    if not home:
        return []
    if os.access(Path(home) / "bin" / "spark-submit", os.X_OK):
        return [Finding("SPARK_HOME", Health.FINE, f"{home} is started, not the Spark that PySpark brings")]
    what = f"SPARK_HOME={home} holds no bin/spark-submit, so PySpark cannot start Spark"
    return [Finding("SPARK_HOME", Health.BROKEN, what, "unset SPARK_HOME")]


def _workers() -> Finding:
    subject, interpreter = "Python workers", sys.executable
    if not interpreter or not os.access(interpreter, os.X_OK):
        what = (
            f"this interpreter has no program that Spark could start for its workers: {interpreter or 'none is known'}"
        )
        return Finding(subject, Health.BROKEN, what, "run eosfw with the python of a virtual environment")
    named = os.environ.get("PYSPARK_PYTHON")
    if named and shutil.which(named) is None:
        what = f"PYSPARK_PYTHON={named} is no program; Spark sessions that eosfw does not start would fail"
        return Finding(subject, Health.BROKEN, what, f"export PYSPARK_PYTHON={interpreter}")
    return Finding(subject, Health.FINE, f"Spark starts {interpreter} for them")
