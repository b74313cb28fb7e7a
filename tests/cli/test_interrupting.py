"""Ctrl-C is answered in one sentence at any moment of the command's life."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

SCRIPT = """
import atexit, os, signal, sys
from eosfw_command import main

def interrupt(kill=os.kill, pid=os.getpid(), number=signal.SIGINT):
    kill(pid, number)

class Late:
    def __del__(self, interrupt=interrupt):  # of a module that is torn down no name is left
        interrupt()

class Moment:
    def find_spec(self, name, path=None, target=None):
        if name == "MOMENT":
            interrupt()
        if name == "eosfw" and "MOMENT" == "exit":
            atexit.register(interrupt)

sys.meta_path.insert(0, Moment())
sys.modules.pop("signal")
if "MOMENT" == "teardown":
    late = Late()
main()
"""


def interrupted_at(moment: str, *, before: object = signal.SIG_DFL) -> subprocess.CompletedProcess[str]:
    """Run `eosfw plugins`; it is interrupted as soon as it looks for a module of this name."""
    script = SCRIPT.replace("MOMENT", moment)
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, "plugins"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, before),
    )


@pytest.mark.parametrize("moment", ["signal", "eosfw", "typer", "eosfw.cli.plugins", "eosfw_memory.hooks"])
def test_an_interrupt_during_an_import_or_the_command_ends_with_one_sentence(moment) -> None:
    done = interrupted_at(moment)

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "eosfw: interrupted\n")


def test_an_interrupt_during_interpreter_exit_ends_with_one_sentence() -> None:
    done = interrupted_at("exit")

    assert (done.returncode, done.stderr) == (130, "eosfw: interrupted\n")
    assert done.stdout.startswith("ROLE")


def test_an_interrupt_while_python_tears_its_modules_down_leaves_the_exit_code() -> None:
    """All that the command had to do is done."""
    done = interrupted_at("teardown")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ROLE")


def test_a_command_started_with_sigint_ignored_is_not_interrupted() -> None:
    """What a shell puts in the background ignores Ctrl-C."""
    done = interrupted_at("eosfw", before=signal.SIG_IGN)

    assert (done.returncode, done.stderr) == (0, "")
