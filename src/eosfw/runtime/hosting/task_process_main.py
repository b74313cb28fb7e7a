"""The main module of a process of `SubprocessHostSession`: it runs one task."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.runtime.hosting.connection import ConnectionLostError
from eosfw.runtime.hosting.subprocess_host import END_TIMEOUT, HELD_BACK
from eosfw.runtime.hosting.task_process import run_hosted_task


def main() -> None:
    """Run the task that a line of stdin describes."""
    faulthandler.enable()
    _hear_no_signals()
    line = sys.stdin.readline()
    if not line:  # the run is gone already
        return
    given, runtime = json.loads(line), ThreadRuntime()
    sys.path[:] = given["path"]
    grace = given["graceful_timeout"] + END_TIMEOUT
    runtime.spawn("eosfw-run-watch", lambda: _end_behind_run(runtime, grace))
    try:
        run_hosted_task(given["task"], given["attempt"], runtime=runtime)
    except ConnectionLostError as why:
        sys.exit(f"eosfw: {why}")


def _hear_no_signals() -> None:
    """Leave Ctrl-C and its like to the worker, which has the task commit and end."""
    for number in HELD_BACK:
        # A handler, and not SIG_IGN, which programs that a connector starts would inherit.
        signal.signal(number, lambda *_: None)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)


def _end_behind_run(runtime: Runtime, grace: float) -> None:
    """End the process if the run dies and the task does not stop in time, as when it blocks in a poll."""
    while os.read(0, 1):
        pass
    runtime.sleep(grace)
    os._exit(1)


if __name__ == "__main__":
    main()
