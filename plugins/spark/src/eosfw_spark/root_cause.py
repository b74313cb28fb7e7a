"""The root cause of a failed step, in one sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from eosfw import errors
from eosfw.errors import EosfwError, ExitCode, StepFailedError

_TRACEBACK: Final = "Traceback (most recent call last):"
_HANDLING: Final = "During handling of the above exception, another exception occurred:"
_NO_READER: Final = "UnboundLocalError: cannot access local variable 'reader'"
"""What PySpark raises when it stops a stream's reader that could not be made: the reason is the exception before."""
_QUERY: Final = "=== Streaming Query ==="
"""Behind it a streaming query's error has its offsets and its plan."""
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+[;.]?\s*")
_RAISED: Final = re.compile(r"^(?P<module>(?:\w+\.)*)(?P<name>[A-Za-z_]\w*)(?:: (?P<message>.*))?$", re.DOTALL)
_PY4J: Final = re.compile(r"^An error occurred while calling \S+\.\s*:?\s*")
_TASK: Final = re.compile(r"^.*?Lost task .*? executor \w+\): ", re.DOTALL)
_BARRIER: Final = re.compile(r"^.*?Stage failed because barrier task .*? finished unsuccessfully\.\n", re.DOTALL)
_EXECUTOR_LOST: Final = re.compile(r"ExecutorLostFailure \(executor (\S+) (.+?)\)(?: Reason: (.*))?$", re.MULTILINE)
_JAVA_CLASS: Final = re.compile(r"^(?:[a-z]\w*\.)+[A-Z]\w*(?:\$\w+)*: ")
_CONDITION: Final = re.compile(r"^\[[A-Z0-9_.]+\] ")
_JAVA_STACK: Final = re.compile(r"^(?:\s+at |\s*\.\.\. \d+ more|Caused by: |Driver stacktrace:|JVM stacktrace:|== )")


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause in one sentence, with the exit code that it asks for."""

    sentence: str
    exit_code: ExitCode = StepFailedError.exit_code


def root_cause(error: BaseException) -> Cause:
    """The root cause of a step's error, without stack traces of Java or Python."""
    if isinstance(error, EosfwError):
        return Cause(str(error), error.exit_code)
    if not _from_spark(error):
        return Cause(_named(type(error).__name__, str(error)))
    if type(error).__name__ == "Py4JNetworkError":
        return Cause("Spark's JVM has ended: it was killed, or had no memory left")
    text = str(error).partition(_QUERY)[0]
    if lost := lost_executor(error):
        return Cause(lost)
    if _TRACEBACK in text:
        return _from_traceback(_last_traceback(text))
    return Cause(_from_java(text) or type(error).__name__)


def lost_executor(error: BaseException) -> str | None:
    """How Spark lost the executor on which a job failed, in words; None if it failed for another reason."""
    lost = _EXECUTOR_LOST.search(str(error)) if _from_spark(error) else None
    if lost is None:
        return None
    return f"Spark lost executor {lost[1]}, which {lost[2].rstrip('.')}" + (f": {lost[3].strip()}" if lost[3] else "")


def _from_spark(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] in ("pyspark", "py4j")


def _last_traceback(text: str) -> str:
    before, _, last = text.rpartition(_TRACEBACK)
    if _NO_READER in last and _HANDLING in before:
        return before.rpartition(_HANDLING)[0].rpartition(_TRACEBACK)[2]
    return last


def _from_traceback(text: str) -> Cause:
    lines = [line for line in text.strip("\n").splitlines() if not _JAVA_STACK.match(line)]
    # Stack frames are indented. The first other line has the exception; the rest is its message.
    start = next((at for at, line in enumerate(lines) if line and not line[0].isspace()), 0)
    summary = _STATE.sub("", "\n".join(lines[start:])).strip()
    raised = _RAISED.match(summary)
    if raised is None:
        return Cause(summary)
    name, message = raised["name"], raised["message"] or ""
    error_class = getattr(errors, name, None)
    if raised["module"] == "eosfw.errors." and isinstance(error_class, type) and issubclass(error_class, EosfwError):
        return Cause(message or name, error_class.exit_code)
    return Cause(_named(name, message))


def _from_java(text: str) -> str:
    text = _BARRIER.sub("", _TASK.sub("", _PY4J.sub("", text.strip())))
    while stripped := _JAVA_CLASS.match(text):
        text = text[stripped.end() :]
    summary = _CONDITION.sub("", text.strip())
    # After the SQLSTATE or the first line come a stack trace, a plan, an excerpt of the query, general advice.
    first, state, rest = summary.partition("SQLSTATE:")
    place = re.match(r" \w+[;.]?\s*(\(?line \d+, pos \d+\)?|line \d+ pos \d+)", rest) if state else None
    sentence = first.splitlines()[0].strip() if first.strip() else ""
    return f"{sentence} ({place[1].strip('()')})" if place else sentence


def _named(name: str, message: str) -> str:
    return f"{name}: {message}" if message else name


def step_failure(what: str, why: BaseException) -> StepFailedError:
    """The error of a failed step: its root cause, and the exit code of that."""
    cause = root_cause(why)
    error = StepFailedError(f"{what} failed: {cause.sentence}")
    error.exit_code = cause.exit_code
    return error
