"""Run the tests of a certificate in a process of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eosfw.errors import EosfwError
from pytest_eos.certificate.certify import job as jobs
from pytest_eos.certificate.certify.job import CertifyJob
from pytest_eos.environment.processes.os_processes import absolute_sys_path

_SUITE = Path(__file__).with_name("suite.py")
SIMULATED = "whatever_a_seed_draws"
"""The words of the name of the test that plays simulated runs."""
_SEED = 1
"""The first of the simulated runs: the same runs each time, so that two certificates of one state say the same."""
_GRACE = 10.0
"""Seconds for pytest to write its page after Ctrl-C, which reaches it as well."""
_LAST = 8
"""Lines of a process that wrote no page."""


class CertificateError(EosfwError):
    """The tests of a certificate could not be run."""


def certify(job: CertifyJob, page: Path, environment: Sequence[str], seed: str | None = None) -> dict[str, Any]:
    """The data of the certificate, whose page is written; with a seed, of that simulated run alone.

    `environment` are options of pytest that choose cluster, client and clock.
    """
    with TemporaryDirectory(prefix="eos-certify-") as folder:
        where = Path(folder)
        job.save(where / "job.json")
        # An empty configuration: that of the folder in which somebody calls this is not about these tests.
        (where / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        # An earlier run's data must not be taken for that of a process that never began.
        page.with_suffix(".json").unlink(missing_ok=True)
        log = where / "log"
        _run(where, _command(where, page, environment, seed), log)
        return _read(page.with_suffix(".json"), log)


def _command(where: Path, page: Path, environment: Sequence[str], seed: str | None) -> list[str]:
    quiet = ["-q", "--no-header", "--no-summary", "--tb=no", "-p", "no:cacheprovider"]
    ours = [f"--eos-certificate={page}", f"--basetemp={where / 'tests'}", f"--eos-seed={_SEED}", *environment]
    if seed is not None:
        ours += [f"--eos-simulation-seed={seed}", "-k", SIMULATED]
    files = ["-c", str(where / "pytest.ini"), f"--rootdir={_SUITE.parent}", str(_SUITE)]
    plugins = ["-p", "pytest_eos.plugin", "-p", "pytest_eos.certificate.certify.after_failure"]
    return [sys.executable, "-m", "pytest", *plugins, *quiet, *ours, *files]


def _run(where: Path, command: list[str], log: Path) -> None:
    own = {
        jobs.VARIABLE: str(where / "job.json"),
        "PYTHONPATH": os.pathsep.join(absolute_sys_path()),
        # The tests of the connector's project may have plugins; here they would only be in the way.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
        "PYTEST_PLUGINS": "",
    }
    with log.open("wb") as file:
        shown = sys.stderr if sys.stderr.isatty() else file
        process = subprocess.Popen(command, env={**os.environ, **own}, stdout=shown, stderr=file)
        with _interrupted_by_signals(process):
            try:
                process.wait()
            except KeyboardInterrupt:
                _end(process)
                raise


@contextmanager
def _interrupted_by_signals(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Have SIGTERM and SIGHUP do what Ctrl-C does: no tests go on, and no file with properties stays, unseen."""

    def interrupt(*_: object) -> None:
        process.send_signal(signal.SIGINT)
        raise KeyboardInterrupt

    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {
        number: signal.signal(number, interrupt) for number in known if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _read(data: Path, log: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(data.read_text(encoding="utf-8"))
    except FileNotFoundError:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-_LAST:]
        raise CertificateError(f"the tests could not be run: {' / '.join(lines) or 'nothing was said'}") from None
    return found
