"""Turn what a command raises into a sentence on stderr, an exit code."""

from __future__ import annotations

import errno
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from tempfile import NamedTemporaryFile
from typing import NoReturn

from eosfw.cli.standard_streams import OutputError, prepare_streams
from eosfw.errors import EosfwError, ExitCode, described

_LIMITED = ExitCode.CONFIGURATION
"""For a limit of the process: who starts it sets that."""
DEBUG = "EOSFW_DEBUG"
"""Environment variable: with a value, errors show their traceback."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command, then exit."""
    if not os.environ.get(DEBUG):
        sys.unraisablehook = _ignore  # what fails while it is taken apart has been told by what failed before
    if not prepare_streams():
        sys.exit(_say("stdout is closed, so no result can be told; redirect it, if only to /dev/null", ExitCode.USAGE))
    sys.exit(_written(_run(sys.argv[1:] if arguments is None else arguments)))


def _ignore(_: object) -> None:
    """Say nothing."""


def _written(code: int) -> int:
    """The exit code, once all that was printed has been written."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return code
    except OutputError as error:
        return _say(str(error), code or error.exit_code)
    return code


def _run(arguments: Sequence[str]) -> int:
    try:
        from eosfw.cli.app import command

        _log_warnings()
        answer = command().main(list(arguments) or ["--help"], prog_name="eosfw", standalone_mode=False)
        if answer == ExitCode.INTERRUPTED:  # typer has made a code of Ctrl-C, without a word
            return _say("interrupted", ExitCode.INTERRUPTED)
        return answer if isinstance(answer, int) else ExitCode.OK
    except EosfwError as error:
        _debug()
        return _say(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _say("interrupted", ExitCode.INTERRUPTED)
    except SystemExit as end:
        return _ended(end)
    except Exception as error:  # noqa: BLE001 (the last one who can tell the user)
        return _unforeseen(error)


def _ended(end: SystemExit) -> int:
    """Somebody called `sys.exit`: a pipe's reader that went away ends typer so, anybody else is a plugin's fault."""
    if isinstance(end.__context__, BrokenPipeError):
        return ExitCode.VERDICT_FAILED
    _debug()
    return _say(f"a plugin tried to end the process: {described(end)}", ExitCode.VERDICT_FAILED)


def _unforeseen(error: Exception) -> int:
    if hasattr(error, "format_message"):
        return _misused(error)
    return _refused(error) if isinstance(error, OSError) else _unexpected(error)


def _refused(error: OSError) -> int:
    """The system refused something: a descriptor, or what nobody has foreseen."""
    if error.errno not in (errno.EMFILE, errno.ENFILE):
        return _unexpected(error)
    _debug()
    return _say(f"no more files or connections can be opened: {error.strerror}; raise `ulimit -n`", _LIMITED)


def _misused(error: Exception) -> int:
    from eosfw.cli.usage_errors import usage_sentence

    return _say(usage_sentence(error), ExitCode.USAGE)


def _unexpected(error: Exception) -> int:
    if os.environ.get(DEBUG):
        traceback.print_exc()
    try:
        with NamedTemporaryFile("w", prefix="eosfw-error-", suffix=".txt", delete=False, encoding="utf-8") as file:
            traceback.print_exc(file=file)
        where = f"the traceback is in {file.name}"
    except OSError:
        where = "--debug shows its traceback"
    text = " ".join(str(error).split())
    whose = f"This is a fault of eosfw or a plugin; {where}"
    return _say(f"unexpected {type(error).__name__}: {text}. {whose}", ExitCode.VERDICT_FAILED)


def _say(text: str, code: int) -> int:
    for line in text.splitlines() or [""]:
        print(f"eosfw: {line}", file=sys.stderr)
    return code


def _debug() -> None:
    if os.environ.get(DEBUG):
        traceback.print_exc()


def _log_warnings() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Brief("eosfw: %(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if os.environ.get(DEBUG) else logging.WARNING, handlers=[handler])


class _Brief(logging.Formatter):
    """Shows a logged exception's traceback only to those who asked for tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if os.environ.get(DEBUG) else text.partition("\nTraceback ")[0]
