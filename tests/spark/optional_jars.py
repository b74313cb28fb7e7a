"""What Spark does not bring itself, from the registry: whole for PySpark 4.0 alone."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_JARS = {
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0": (
        "spark-sql-kafka",
        "spark-token-provider-kafka",
        "kafka-clients",
        "commons-pool2",
    ),
    "io.delta:delta-spark_2.13:4.0.0": ("delta-",),
}
NEED_JARS = ["source/test_spark_kafka.py", "steps/test_delta.py"]


def jars_exist() -> bool:
    """Whether there are jars for the installed Spark."""
    try:
        return version("pyspark").startswith("4.0.")
    except PackageNotFoundError:
        return False


def settings() -> dict[str, str]:
    """Settings of a session with Spark's Kafka source and Delta; none where no jars exist."""
    if not jars_exist():
        return {}
    import jgo

    found = [str(jar) for spec, wanted in _JARS.items() for jar in jgo.build(spec).all_jars if _named(jar, wanted)]
    return {
        "spark.jars": ",".join(found),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }


def _named(jar: object, wanted: tuple[str, ...]) -> bool:
    return Path(str(jar)).name.startswith(wanted)
