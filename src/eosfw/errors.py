"""Errors by what the caller must do next: retry, abort, or close the producer.

The right reaction depends on the call as much as on the code that a broker sent. So each backend has one table per
call (`eosfw.error_table`), and raises only the classes below. Their names are Kafka's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from traceback import walk_tb
from types import FrameType

__all__ = [
    "AbortableError",
    "AlreadyExistsError",
    "AuthenticationError",
    "BadRequestError",
    "ClusterAuthorizationError",
    "ClusterUnavailableError",
    "CommitFailedError",
    "ConcurrentTransactionsError",
    "ConfigError",
    "DamagedDataError",
    "DataError",
    "EosfwError",
    "ExitCode",
    "FatalError",
    "GroupAuthorizationError",
    "GroupIdNotFoundError",
    "GroupNotEmptyError",
    "IllegalStateError",
    "InconsistentGroupProtocolError",
    "IndefiniteOutcomeError",
    "InterruptedRunError",
    "InvalidPidMappingError",
    "InvalidProducerEpochError",
    "InvalidRecordError",
    "InvalidTransactionTimeoutError",
    "InvalidTxnStateError",
    "NotAssignedError",
    "NotFoundError",
    "NotLeaderError",
    "OutOfOrderSequenceError",
    "PluginError",
    "PrivilegedWriteError",
    "Problem",
    "ProducerFencedError",
    "ReadStalledError",
    "RebalanceInProgressError",
    "RebalanceNeededError",
    "RecordTooLargeError",
    "RequestRefusedError",
    "RequestTimeoutError",
    "RetriableError",
    "SaslAuthenticationError",
    "SourceUnavailableError",
    "SslAuthenticationError",
    "StepFailedError",
    "SupersededError",
    "TaskFailedError",
    "TopicAuthorizationError",
    "TopicExistsError",
    "TransactionNotFoundError",
    "TransactionalIdAuthorizationError",
    "TransactionalIdNotFoundError",
    "UnknownTopicOrPartitionError",
    "UnsupportedError",
    "UnsupportedSaslMechanismError",
    "described",
    "one_line",
    "place_of",
    "with_class",
]


class ExitCode(IntEnum):
    """The exit status of a command."""

    OK = 0
    VERDICT_FAILED = 1
    USAGE = 2
    CONFIGURATION = 3
    DAMAGED_DATA = 4
    FENCED = 5
    UNAVAILABLE = 6
    INTERRUPTED = 130


class EosfwError(Exception):
    """The base of all errors of this project; its text is one sentence that a user can act on."""

    exit_code: ExitCode = ExitCode.VERDICT_FAILED


def with_class(error: BaseException) -> str:
    """The class and text of an error, in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def one_line(error: BaseException) -> str:
    """The text of an error in one line; an error that is no EosfwError is shown with its class."""
    text = " ".join(str(error).split())
    return text if isinstance(error, EosfwError) and text else with_class(error)


def described(error: BaseException) -> str:
    """The text of an error; an error that is no EosfwError is shown with its class and place.

    As in pytest, a function whose local `__tracebackhide__` is true is not the place.
    """
    if isinstance(error, EosfwError) and str(error).strip():
        return str(error)
    return with_class(error) + place_of(error, lambda frame: bool(frame.f_locals.get("__tracebackhide__")))


def place_of(error: BaseException, is_hidden: Callable[[FrameType], bool]) -> str:
    """The last line of an error's trace that is not hidden, to be put behind the error's text; empty without one."""
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        if not is_hidden(frame):
            place = f" (in {frame.f_code.co_name}, {frame.f_code.co_filename}:{line})"
    return place


# --- what the caller must do ------------------------------------------------------------------------------------------


class RetriableError(EosfwError):
    """Nothing has changed: repeat the call (Kafka's `RetriableException`).

    A `poll` that raises it may say with `retry_after` after how many seconds to poll again; ValueError for a number of
    seconds that nobody can wait.
    """

    def __init__(self, *args: object, retry_after: float | None = None) -> None:
        if retry_after is not None and not 0 <= retry_after < float("inf"):
            raise ValueError(f"retry_after is a number of seconds, not {retry_after!r}")
        super().__init__(*args)
        self.retry_after = retry_after


class AbortableError(EosfwError):
    """The transaction cannot commit: abort it, then go on with the same producer (KIP-1050)."""


class FatalError(EosfwError):
    """The producer cannot be used any more: close it."""


class IndefiniteOutcomeError(FatalError):
    """The call may or may not have taken effect: discard the producer, read committed offsets, replay.

    Most of Python's clients do not drive KIP-890's epoch per transaction, so a late EndTxn may hit the next
    transaction of a producer that is used again.
    """


class IllegalStateError(EosfwError):
    """The call is illegal in this state; nothing has changed (KIP-98, producer states)."""


# --- leaves, in Kafka's words -----------------------------------------------------------------------------------------


class ProducerFencedError(FatalError):
    """A newer producer holds this transactional id, or the coordinator timed this one out."""

    exit_code = ExitCode.FENCED


class InvalidProducerEpochError(AbortableError):
    """A partition saw a newer epoch of this producer; the coordinator decides whether it is fenced."""

    exit_code = ExitCode.FENCED


class InvalidTxnStateError(FatalError):
    """The coordinator refused the move for the state the transaction is in."""


class InvalidPidMappingError(FatalError):
    """The transactional id no longer belongs to this producer id (KAFKA-18019: no blind recovery)."""


class InvalidTransactionTimeoutError(FatalError):
    """`transaction.timeout.ms` lies above the broker's `transaction.max.timeout.ms`."""

    exit_code = ExitCode.CONFIGURATION


class OutOfOrderSequenceError(FatalError):
    """A batch before this one was lost."""


class ConcurrentTransactionsError(RetriableError):
    """The coordinator still finishes an earlier transaction of this id."""


class AuthenticationError(FatalError):
    """Client and broker could not agree who the other one is (Kafka's `AuthenticationException`).

    Only the first contact with a cluster raises it: later, when the same properties have led to a broker before, the
    client tries again.
    """

    exit_code = ExitCode.CONFIGURATION


class SaslAuthenticationError(AuthenticationError):
    """The broker refused the user or its password; the text has the broker's own sentence."""


class UnsupportedSaslMechanismError(AuthenticationError):
    """The listener does not take this SASL mechanism, or none at all; the text names those that it takes."""


class SslAuthenticationError(AuthenticationError):
    """The TLS handshake failed: a certificate, a host name, or one side does not speak TLS."""


class TransactionalIdAuthorizationError(FatalError):
    """This principal may not use the transactional id."""

    exit_code = ExitCode.CONFIGURATION


class ClusterAuthorizationError(FatalError):
    """This principal may not change the cluster."""

    exit_code = ExitCode.CONFIGURATION


class TransactionalIdNotFoundError(EosfwError):
    """No coordinator knows the transactional id: it was never used, or has expired."""

    exit_code = ExitCode.CONFIGURATION


class TransactionNotFoundError(EosfwError):
    """No transaction is open in the partition since the offset that was given."""

    exit_code = ExitCode.CONFIGURATION


class UnsupportedError(EosfwError):
    """The client, or the cluster, cannot do this; the text names the capability or the version that it takes."""

    exit_code = ExitCode.CONFIGURATION


class TopicAuthorizationError(AbortableError):
    """This principal may not write to or read from the topic."""

    exit_code = ExitCode.CONFIGURATION


class GroupAuthorizationError(AbortableError):
    """This principal may not use the group."""

    exit_code = ExitCode.CONFIGURATION


class GroupIdNotFoundError(EosfwError):
    """No consumer group has this id: nobody committed offsets for it, or it was deleted."""

    exit_code = ExitCode.CONFIGURATION


class GroupNotEmptyError(EosfwError):
    """The consumer group has members, so it cannot be deleted."""

    exit_code = ExitCode.CONFIGURATION


class CommitFailedError(EosfwError):
    """The group went on without this member, and others own its partitions now (Kafka's `CommitFailedException`)."""

    exit_code = ExitCode.FENCED


class RebalanceInProgressError(RetriableError):
    """The group is between two generations: ask again later (Kafka's `RebalanceInProgressException`)."""


class InconsistentGroupProtocolError(EosfwError):
    """A group of another kind, such as that of Kafka Connect's workers, is alive under this group id."""

    exit_code = ExitCode.CONFIGURATION


class UnknownTopicOrPartitionError(AbortableError):
    """The topic or partition does not exist on the cluster."""

    exit_code = ExitCode.CONFIGURATION


class InvalidRecordError(AbortableError):
    """The cluster refuses a record: for its time, for a key that a compacted topic needs, or for its compression."""


class RecordTooLargeError(AbortableError):
    """A record is larger than the cluster accepts."""


class TopicExistsError(EosfwError):
    """The topic exists already."""

    exit_code = ExitCode.CONFIGURATION


class ClusterUnavailableError(RetriableError):
    """No broker answered within the deadline; the text names the address."""

    exit_code = ExitCode.UNAVAILABLE


class ReadStalledError(RetriableError):
    """A bounded read made no progress within its deadline; the text names topic, partition and offset.

    `waiting` has topic, partition and next offset of each partition that the read waits for.
    """

    exit_code = ExitCode.UNAVAILABLE

    def __init__(self, *args: object, waiting: Iterable[tuple[str, int, int]] = ()) -> None:
        super().__init__(*args)
        self.waiting = tuple(waiting)


# --- the framework's own ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake of a user: its place, and what is wrong and what to do."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class ConfigError(EosfwError):
    """The configuration is invalid; `problems` has every reason (Kafka's `ConfigException`)."""

    exit_code = ExitCode.CONFIGURATION

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class SourceUnavailableError(RetriableError):
    """Sources of connectors do not answer now; `problems` has each connector with its reason."""

    exit_code = ExitCode.UNAVAILABLE

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class PluginError(EosfwError):
    """A plugin is missing, broken, or clashes; the text names its distribution."""

    exit_code = ExitCode.CONFIGURATION


class DamagedDataError(EosfwError):
    """Stored or source data cannot be trusted; the text names the place."""

    exit_code = ExitCode.DAMAGED_DATA


class DataError(EosfwError, ValueError):
    """A value does not fit its schema, or schemas do not fit each other (Kafka Connect's `DataException`).

    The text names the field, the wanted and the found type, never the value.
    """


class SupersededError(EosfwError):
    """A newer generation owns the connector: stop for good."""

    exit_code = ExitCode.FENCED


class PrivilegedWriteError(EosfwError):
    """The leader lost the right to write to the config topic (KIP-618)."""

    exit_code = ExitCode.FENCED


class TaskFailedError(EosfwError):
    """A connector's own code, or its data, failed a task; nothing of the open transaction becomes visible."""


class StepFailedError(EosfwError):
    """A step over the committed records failed; what was committed stays."""


class InterruptedRunError(EosfwError):
    """The user stopped the run; `signal_number` is that of the signal, if one did it."""

    exit_code = ExitCode.INTERRUPTED

    def __init__(self, message: str, signal_number: int | None = None) -> None:
        super().__init__(message)
        self.signal_number = signal_number


# --- requests to a worker group ---------------------------------------------------------------------------------------


class NotFoundError(EosfwError):
    """There is no such connector, task, plugin or logger (Kafka Connect's `NotFoundException`)."""

    exit_code = ExitCode.CONFIGURATION


class AlreadyExistsError(EosfwError):
    """There is a connector of this name already (Kafka Connect's `AlreadyExistsException`)."""

    exit_code = ExitCode.CONFIGURATION


class BadRequestError(EosfwError):
    """The request itself is wrong: nothing has changed, and repeating it does not help (`BadRequestException`)."""

    exit_code = ExitCode.CONFIGURATION


class RequestRefusedError(EosfwError):
    """A request of another worker that its signature does not permit (KIP-507), or that may be repeated (503).

    `status` is the HTTP status code.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class RebalanceNeededError(RetriableError):
    """The group rebalances, or its state has just changed: repeat the request (`RebalanceNeededException`)."""

    exit_code = ExitCode.UNAVAILABLE


class RequestTimeoutError(RetriableError):
    """The request was not done in time; it may still take effect (Kafka Connect answers 500)."""

    exit_code = ExitCode.UNAVAILABLE


class NotLeaderError(RetriableError):
    """Only the leader may do that (Kafka Connect's `NotLeaderException`); `url` is its REST interface, if known."""

    def __init__(self, message: str, url: str | None) -> None:
        super().__init__(message)
        self.url = url


class NotAssignedError(RetriableError):
    """Another worker runs that task (`NotAssignedException`); `url` is its REST interface, if known."""

    def __init__(self, message: str, url: str | None) -> None:
        super().__init__(message)
        self.url = url
