"""The syntax check of SQL, by Spark's own parser without a session.

A session takes seconds to start. The parser alone needs a JVM with Spark's classes, which takes about one second.
"""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from eosfw_spark.jars import jar_folder, running_session
from eosfw_spark.java import Java, usable_java
from eosfw_spark.root_cause import root_cause
from eosfw_spark.session import end_process

logger = logging.getLogger(__name__)
_REFUSALS = ("Py4JJavaError", "ParseException")
"""The parser's exception, and the one to which PySpark converts it if a session runs."""
# C1 alone and the serial collector start fastest, and nothing runs long here.
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def syntax_errors(statements: Sequence[str]) -> list[str | None]:
    """The syntax error of each statement in one sentence; None if there is none, or if no parser can be started."""
    try:
        with _parser() as parser:
            return [_error(parser, statement) for statement in statements]
    except Exception as why:  # noqa: BLE001 - a JVM or a py4j that will not do; the step itself will say
        logger.info("no parser of SQL: %s", why)
        return [None] * len(statements)


def _error(parser: Any, statement: str) -> str | None:
    try:
        parser.parsePlan(statement)
    except Exception as why:
        if type(why).__name__ in _REFUSALS:
            return root_cause(why).sentence
        raise
    return None


@contextmanager
def _parser() -> Iterator[Any]:
    running = running_session()
    if running is not None:
        yield running._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - the way PySpark's own modules go
        return
    with _bare_jvm() as gateway:
        yield gateway.jvm.org.apache.spark.sql.execution.SparkSqlParser()


@contextmanager
def _bare_jvm() -> Iterator[Any]:
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    java, jars = usable_java(), jar_folder()
    if not isinstance(java, Java):
        raise FileNotFoundError(java)
    port, token, process = launch_gateway(
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        classpath=str(jars / "*"),
        javaopts=list(_JVM),
        java_path=java.command,
        redirect_stderr=subprocess.DEVNULL,
        die_on_exit=True,  # the JVM ends with its stdin, even if this process is killed
        enable_auth=True,
        return_proc=True,
    )
    try:
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
        try:
            yield gateway
        finally:
            gateway.shutdown()
    finally:
        end_process(process)
