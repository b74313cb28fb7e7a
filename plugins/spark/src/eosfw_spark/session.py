"""The local Spark session of steps; `close` leaves no process and no file behind."""

from __future__ import annotations

import os
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eosfw.errors import StepFailedError
from eosfw_spark.java import java_problem
from eosfw_spark.root_cause import root_cause

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
# The serial collector starts fastest. C1 alone starts faster, too, but costs long jobs a third of their throughput:
# whose jobs are short may choose it by SPARK_SUBMIT_OPTS.
_JVM: Final = "-XX:+UseSerialGC -Djava.net.preferIPv4Stack=true"

_FRAME: Final = re.compile(r"\s+(?:at |\.\.\. \d+ more)")
_EXCEPTION: Final = re.compile(r'^(?:Exception in thread "\S+" |Caused by: )(?:[\w.$]+: )?')


class Session:
    """A Spark session with its JVM and its files."""

    def __init__(self, spark: SparkSession, gateway: Any | None, folder: Path | None) -> None:
        self.spark = spark
        self._gateway = gateway
        self._folder = folder

    def folder(self, name: str) -> Path:
        """A folder that ends with the session."""
        if self._folder is None:  # a session that ran before, and goes on afterwards
            self._folder = Path(tempfile.mkdtemp(prefix="eosfw-spark-"))
        return self._folder / name

    @property
    def owned(self) -> bool:
        """Whether `close` will end it, since it was started for this."""
        return self._gateway is not None

    def close(self) -> None:
        """Stop Spark and its JVM and delete its files; a session that ran before is left running."""
        if self._gateway is None:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
            return
        gateway, self._gateway = self._gateway, None
        # The JVM may have ended by itself: killed, or out of memory.
        with suppress(Exception):
            self.spark.stop()
        end_gateway(gateway)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def settings(folder: Path, cores: int) -> Mapping[str, str]:
    """The settings of the session: loopback only, no UI, all files in `folder`."""
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
        # The same rows on every machine: no local time zone, and an error, not null, for a failed cast.
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        # An idle query, too, tells what holds its partitions back.
        "spark.sql.streaming.noDataProgressEventInterval": "2s",
        "spark.driver.extraJavaOptions": f"{_JVM} -Dlog4j2.configurationFile={folder / 'log4j2.properties'}"
        f" -Djava.io.tmpdir={folder}",
    }


def start(cores: int | None = None, more: Mapping[str, str] | None = None) -> Session:
    """Start Spark with these settings and `more`; if a session runs in this process already, use that one."""
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote

    if is_remote():
        raise StepFailedError(
            "a Spark Connect session runs in this process, and steps need one with a Spark of its own: stop it, or run"
            " the steps in another process"
        )
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
    # The output of the JVM goes to a file: stdout belongs to the caller, and a JVM prints warnings before it reads
    # its settings.
    with (folder / LOG).open("wb") as log, _environment(conf), warnings.catch_warnings():
        # About a newer pandas than PySpark supports; pandas is not used here.
        warnings.simplefilter("ignore", FutureWarning)
        # In a session of its own: a terminal that hangs up tells all processes of its own, and steps are drained first.
        popen = {"stdout": log, "stderr": subprocess.STDOUT, "start_new_session": True}
        try:
            gateway: Any = launch_gateway(spark_conf, popen)  # type: ignore[no-untyped-call]
        except Exception as why:
            raise StepFailedError(f"Spark did not start: {_last_log_line(folder) or why}") from why
        try:
            delete_when_jvm_ends(gateway, folder)
            context = SparkContext(conf=spark_conf, gateway=gateway)
            let_connections_end(context._accumulatorServer)  # noqa: SLF001 - PySpark shows it nobody
            return Session(SparkSession(context), gateway, folder)
        except Exception as why:  # noqa: BLE001 - whatever Spark says
            sentence = root_cause(why).sentence  # as long as the JVM can tell
            end_gateway(gateway)
            raise StepFailedError(f"Spark did not start with master {conf['spark.master']}: {sentence}") from None
        except BaseException:
            end_gateway(gateway)
            raise


def let_connections_end(server: socketserver.BaseServer) -> None:
    """Have a server print no trace for a connection that its peer ends.

    PySpark's server of accumulators waits for updates of the JVM, which Ctrl-C ends as well.
    """
    default = server.handle_error

    def handle_error(request: Any, address: Any) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            default(request, address)

    server.handle_error = handle_error  # type: ignore[assignment,method-assign]


def _disable_query_loggers() -> None:
    """Disable PySpark's loggers that print every failed query as JSON with its Java stack trace."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


@contextmanager
def _environment(conf: Mapping[str, str]) -> Iterator[None]:
    """Have Spark's workers run this interpreter, or the one of the settings; else they run the python3 of PATH."""
    python = conf.get("spark.pyspark.python", sys.executable)
    variables = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}
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


def delete_when_jvm_ends(gateway: Any, folder: Path) -> None:
    """Have the JVM delete the files as well: it ends when its stdin closes, even if this process is killed."""
    gateway.jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(
        gateway.jvm.java.io.File(str(folder))
    )


def end_gateway(gateway: Any) -> None:
    """End the JVM of a gateway, so that another one can be started."""
    from pyspark import SparkContext

    if SparkContext._gateway is gateway:  # noqa: SLF001 - PySpark offers no other way to let go of a gateway
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    with suppress(Exception):  # there may be no JVM any more
        gateway.shutdown()
    end_process(gateway.proc)


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a JVM, which ends when its stdin closes; kill it if it does not."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_log_line(folder: Path) -> str:
    lines = (folder / LOG).read_text(errors="replace").splitlines()
    told = [line for line in lines if line.strip() and not _FRAME.match(line)]
    return _EXCEPTION.sub("", told[-1].strip()) if told else ""
