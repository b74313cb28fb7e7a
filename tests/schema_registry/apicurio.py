"""Apicurio Registry, a schema registry of others, with its API as Confluent's; data in memory, on a free port."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eosfw.concurrency import ThreadRuntime
from ports import free_ports
from real_kafka import QUICK, RealKafkaUnavailableError

VERSION = "2.6.13.Final"
API = "/apis/ccompat/v7"
_STARTED = "Listening on"
_READY_WITHIN = 90.0


@contextmanager
def served_apicurio(folder: Path) -> Iterator[str]:
    """Serve a new registry and give its URL; RealKafkaUnavailableError with the reason if this machine cannot."""
    java = shutil.which("java")
    if java is None:
        raise RealKafkaUnavailableError("no `java` on PATH; Apicurio Registry needs Java 17 or later")
    [port] = free_ports(1)
    properties = {"quarkus.http.port": port, "quarkus.http.host": "127.0.0.1", "quarkus.banner.enabled": "false"}
    options = [f"-D{name}={value}" for name, value in properties.items()]
    log = folder / "apicurio.log"
    # A test run that is killed must not leave a registry behind.
    tied = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*tied, java, *QUICK, "-Xmx512m", *options, "-jar", str(_program(folder))],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_until_started(process, log)
        yield f"http://127.0.0.1:{port}{API}"
    finally:
        process.kill()
        process.wait(timeout=30)


def _program(folder: Path) -> Path:
    """The jar that starts it, unpacked from Maven Central's archive."""
    try:
        from jgo.maven import MavenContext

        project = MavenContext().project("io.apicurio", "apicurio-registry-app")
        archive = project.at_version(VERSION).artifact("all", "tar.gz").resolve()
    except Exception as why:  # jgo raises whatever its downloader raises
        raise RealKafkaUnavailableError(f"could not get Apicurio Registry from Maven Central: {why}") from why
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / f"apicurio-registry-app-{VERSION}-runner.jar"


def _wait_until_started(process: subprocess.Popen[bytes], log: Path) -> None:
    runtime = ThreadRuntime()
    deadline = runtime.now() + _READY_WITHIN
    while _STARTED not in (text := log.read_text(errors="replace")):
        if process.poll() is not None:
            raise RealKafkaUnavailableError(f"Apicurio Registry ended at start: {text[-1500:]}")
        if runtime.now() > deadline:
            raise RealKafkaUnavailableError(f"Apicurio Registry did not start in {_READY_WITHIN:g} s: {text[-1500:]}")
        runtime.sleep(0.1)
