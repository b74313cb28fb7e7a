"""Start the Spark session that steps run in, quiet, local, gone without a trace when closed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eosfw.errors import StepFailedError
from eosfw_spark.java import java_problem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG: Final = "spark.log"
_LOG4J: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""
# The serial collector starts fastest; C1 alone would too, but costs a third of the throughput of long jobs.
_JVM: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=4 -Djava.net.preferIPv4Stack=true"


class Session:
    """A Spark session with everything it left on this machine; `close` removes both."""

    def __init__(self, spark: SparkSession, gateway: Any | None, folder: Path | None) -> None:
        self.spark = spark
        self._gateway = gateway
        self._folder = folder

    def close(self) -> None:
        """Stop Spark and its JVM, delete its files; a session that was there before us is left alone."""
        if self._gateway is None:
            return
        gateway, self._gateway = self._gateway, None
        try:
            self.spark.stop()
        finally:
            end_gateway(gateway)
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)


def settings(folder: Path, cores: int) -> Mapping[str, str]:
    """How our Spark is set up: on the loopback only, no UI, all of its files in `folder`."""
    return {
        "spark.master": f"local[{cores}]",
        "spark.app.name": "eosfw",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": str(max(2, cores)),
        "spark.python.daemon.module": "eosfw_spark.daemon",
        # The same rows on every machine: no local clock, no silent null for what cannot be cast.
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.driver.extraJavaOptions": f"{_JVM} -Dlog4j2.configurationFile={folder / 'log4j2.properties'}"
        f" -Djava.io.tmpdir={folder}",
    }


def start(cores: int | None = None, more: Mapping[str, str] | None = None) -> Session:
    """Start Spark with our settings, then `more`; or borrow the session that runs in this process already."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return Session(running, None, None)
    if problem := java_problem():
        raise StepFailedError(problem)
    folder = Path(tempfile.mkdtemp(prefix="eosfw-spark-"))
    try:
        defaults = settings(folder, cores or max(2, os.cpu_count() or 2))
        return _launch(folder, {**defaults, **(more or {})})
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _launch(folder: Path, conf: Mapping[str, str]) -> Session:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    _disable_query_loggers()
    (folder / "log4j2.properties").write_text(_LOG4J)
    spark_conf = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    # Its own stdout and stderr go to a file: stdout belongs to our caller, and a JVM warns before it reads any setting.
    with (folder / LOG).open("wb") as log, _environment(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of a pandas newer than PySpark knows, which we never use
        try:
            gateway: Any = launch_gateway(spark_conf, {"stdout": log, "stderr": subprocess.STDOUT})  # type: ignore[no-untyped-call]
        except Exception as why:
            raise StepFailedError(f"Spark did not start: {_last_log_line(folder) or why}") from why
        try:
            _delete_when_jvm_ends(gateway, folder)
            context = SparkContext(conf=spark_conf, gateway=gateway)
            return Session(SparkSession(context), gateway, folder)
        except BaseException:
            end_gateway(gateway)
            raise


def _disable_query_loggers() -> None:
    """Keep PySpark's own loggers off stderr: they print every failed query as JSON with its whole Java stack."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


@contextmanager
def _environment() -> Iterator[None]:
    """Make Spark's workers run this interpreter: they take PATH's python3 otherwise."""
    variables = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    before = {name: os.environ.get(name) for name in (*variables, "PYSPARK_SUBMIT_ARGS")}
    os.environ.update(variables)
    os.environ.pop("PYSPARK_SUBMIT_ARGS", None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _delete_when_jvm_ends(gateway: Any, folder: Path) -> None:
    """Have the JVM delete our files too: it ends when our end of its stdin closes, even if we were killed."""
    gateway.jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(
        gateway.jvm.java.io.File(str(folder))
    )


def end_gateway(gateway: Any) -> None:
    """End the JVM behind a gateway and make room for the next."""
    from pyspark import SparkContext

    SparkContext._gateway = None  # noqa: SLF001 - PySpark offers no other way to let go of a gateway
    SparkContext._jvm = None  # noqa: SLF001
    process: subprocess.Popen[bytes] = gateway.proc
    try:
        gateway.shutdown()
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _last_log_line(folder: Path) -> str:
    lines = (folder / LOG).read_text(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""
