"""The entry point of `eosfw`: runs one command, turns what it raises into a sentence on stderr and an exit code."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Sequence
from tempfile import NamedTemporaryFile
from typing import Any, NoReturn

from eosfw.cli.output import debug
from eosfw.cli.output.log_format import TextFormatter
from eosfw.cli.output.standard_streams import OutputError, prepare_streams
from eosfw.errors import EosfwError, ExitCode, described
from eosfw.open_files import none_left

_LIMIT_REACHED = ExitCode.CONFIGURATION
"""A limit of the process is set by those who start it, as a configuration is."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command, then exit."""
    if not debug.is_enabled():
        # Python calls this hook for errors in destructors. The error that caused them has been reported already.
        sys.unraisablehook = lambda _: None
    if not prepare_streams():
        sys.exit(_say("stdout is closed, so no result can be told; redirect it, if only to /dev/null", ExitCode.USAGE))
    sys.exit(_flush_stdout(_run(sys.argv[1:] if arguments is None else arguments)))


def _flush_stdout(code: int) -> int:
    """The exit code of the process; a result that could not be written makes it a failure."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return code
    except OutputError as error:
        return _say(str(error), code or error.exit_code)
    return code


def _run(arguments: Sequence[str]) -> int:
    try:
        # Imported here, so that a failing import of a command ends in a sentence, too.
        from eosfw.cli.app import command

        _log_warnings()
        answer = command().main(list(arguments) or ["--help"], prog_name="eosfw", standalone_mode=False)
        if answer == ExitCode.INTERRUPTED:  # typer returns this code for Ctrl-C and prints nothing
            return _say("interrupted", ExitCode.INTERRUPTED)
        return answer if isinstance(answer, int) else ExitCode.OK
    except EosfwError as error:
        debug.print_traceback()
        return _say(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _say("interrupted", ExitCode.INTERRUPTED)
    except SystemExit as end:
        return _report_system_exit(end)
    except Exception as error:  # noqa: BLE001 (nobody above reports it to the user)
        return _report_exception(error)


def _report_system_exit(end: SystemExit) -> int:
    """`sys.exit` was called: by typer when the reader of a pipe has gone, otherwise by a plugin, which is its fault."""
    if isinstance(end.__context__, BrokenPipeError):
        return ExitCode.VERDICT_FAILED
    debug.print_traceback()
    return _say(f"a plugin tried to end the process: {described(end)}", ExitCode.VERDICT_FAILED)


def _report_exception(error: Exception) -> int:
    if hasattr(error, "format_message"):  # a usage error of typer, whose class is private
        return _report_usage_error(error)
    if isinstance(error, OSError) and none_left(error):
        debug.print_traceback()
        return _say(f"no more files or connections can be opened: {error.strerror}; raise `ulimit -n`", _LIMIT_REACHED)
    return _report_fault(error)


def _report_usage_error(error: Any) -> int:
    context = getattr(error, "ctx", None)
    text = str(error.format_message())
    path = context.command_path if context is not None else "eosfw"
    sentence = text if text.endswith(("?", ".")) else f"{text}."
    return _say(f"{sentence} Try: {path} --help", ExitCode.USAGE)


def _report_fault(error: Exception) -> int:
    debug.print_traceback()
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


def _log_warnings() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextFormatter())
    logging.basicConfig(level=logging.INFO if debug.is_enabled() else logging.WARNING, handlers=[handler])
