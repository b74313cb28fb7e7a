"""A tap that runs as a process of its own, with its files in a temporary folder.

The tap and all that it starts are one process group, whose leader is a small shell script. The script's standard input
is a pipe that the worker holds open. When the worker dies, however it does, the pipe ends, and the script kills the
group and removes the folder, which has the tap's configuration. Nobody else would: the tap of a killed worker would
keep its connections, such as the replication slot that its successor needs. The part of the script that waits for the
end of the pipe stays when the tap has ended by itself, whose process id may then be another process's.
"""

from __future__ import annotations

import logging
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eosfw.errors import ConfigError, Problem
from eosfw_singer.lines import LineBeginnings, LineBuffer
from eosfw_singer.state_text import state_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

logger = logging.getLogger(__name__)

_SCRIPT: Final = """
exec 3<&0
"$@" 3<&- </dev/null &
tap=$!
{ read -r line <&3; [ -e "$0/ended" ] || kill -KILL "$tap"; rm -rf -- "$0"; kill -KILL 0; } >/dev/null 2>&1 &
wait "$tap"
status=$?
true >"$0/ended"
exit "$status"
"""
_CHUNK: Final = 1 << 20
_LONGEST_LOG_LINE: Final = 10_000
_WORKER_ONLY: Final = ("VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
"""Variables of the worker's own Python, which a tap in another virtual environment must not have, like PYTHON*."""


def executable_of(command: Sequence[str]) -> str:
    """The path of a tap's executable; ConfigError if there is none."""
    found = shutil.which(command[0])
    if found is None:
        raise ConfigError(
            Problem(
                "tap.command",
                f"there is no executable {command[0]!r} on this worker: install the tap into a virtual environment of "
                f"its own, and name the executable in its folder `bin`",
            )
        )
    return found


class TapProcess:
    """A running tap; `read` is called by one thread, until it says that nothing follows."""

    def __init__(
        self,
        command: Sequence[str],
        arguments: Mapping[str, Any],
        longest_line: int,
        mask: Callable[[str], str],
    ) -> None:
        """Start it; `arguments` has for each option either a value, which is given by a file, or None."""
        executable = executable_of(command)
        self.name = Path(command[0]).name
        self._mask = mask
        self._folder = Path(tempfile.mkdtemp(prefix="eosfw-singer-"))
        self._lines = LineBuffer(longest_line, self.name)
        # A secret in the middle of which a line is cut off would not be masked: more is kept than is logged.
        self._log_lines = LineBeginnings(2 * _LONGEST_LOG_LINE)
        self.wrote = False
        """Whether the last `read` found anything, be it on stderr."""
        self.last_error: str | None = None
        """The class of the last exception that the tap wrote to stderr."""
        try:
            given = _options(self._folder, arguments)
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, str(self._folder), executable, *command[1:], *given],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(self._folder),
                start_new_session=True,
            )
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._selector = selectors.DefaultSelector()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ)

    def read(self, timeout: float) -> list[bytes] | None:
        """The next whole lines of stdout, waiting for at most so many seconds; None once there are no more."""
        found: list[bytes] = []
        ended = self._process.poll() is not None
        ready = self._selector.select(0.0 if ended else timeout)
        self.wrote = bool(ready)
        if ended and not ready:
            # Somebody whom the tap has started, such as a tunnel, may hold its pipes open.
            for key in list(self._selector.get_map().values()):
                self._selector.unregister(key.fileobj)
            self._log(self._log_lines.last())
        for key, _ in ready:
            data = os.read(key.fd, _CHUNK)
            if key.fileobj is self._process.stdout:
                found += self._lines.lines(data)
            else:
                self._log(self._log_lines.lines(data) if data else self._log_lines.last())
            if not data:
                self._selector.unregister(key.fileobj)
        if not self._selector.get_map():
            found += self._line_without_end()
        return found if found or self._selector.get_map() else None

    def _line_without_end(self) -> list[bytes]:
        """The last line, if it has no end: a tap that failed may have been ended in the middle of it."""
        rest = self._lines.last()
        return rest if rest and self.status() == 0 else []

    def status(self) -> int:
        """The exit status, once nothing follows on stdout and stderr."""
        return self._process.wait()

    def kill(self) -> None:
        """End the tap and all that it has started, and remove its files; also right after it ended by itself."""
        # Nothing in a tap is worth a polite request: what it has read and not written is read again.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _log(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            text = self._mask(line.decode(errors="replace"))[:_LONGEST_LOG_LINE].rstrip()
            if text:
                logger.info("%s: %s", self.name, text)
            word = text.partition(":")[0]
            # Its class alone: the text of an exception may have values of rows.
            if word.endswith(("Error", "Exception", "Exit")) and word.replace(".", "").isidentifier():
                self.last_error = word


def _options(folder: Path, arguments: Mapping[str, Any]) -> list[str]:
    given: list[str] = []
    for option, value in arguments.items():
        given.append(option)
        if value is not None:
            path = folder / f"{option.strip('-')}.json"
            # Nobody else may read it, at no moment: it has passwords.
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(state_text(value))
            given.append(str(path))
    return given


def _environment(folder: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _WORKER_ONLY and (not name.startswith("PYTHON") or name == "PYTHONWARNINGS")
    }
    return kept | {"TMPDIR": str(folder), "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
