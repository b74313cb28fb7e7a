"""The status codes of errors (Kafka Connect's `ConnectExceptionMapper`)."""

from __future__ import annotations

import logging
from typing import Final

from eosfw.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConfigError,
    EosfwError,
    NotAssignedError,
    NotFoundError,
    NotLeaderError,
    RebalanceNeededError,
    RecordTooLargeError,
    RequestRefusedError,
    RequestTimeoutError,
    UnsupportedError,
    described,
)
from eosfw_rest.messages import Answer, error_message

_log = logging.getLogger(__name__)
STATUSES: Final[tuple[tuple[type[EosfwError], int], ...]] = (
    (NotFoundError, 404),
    (AlreadyExistsError, 409),
    (BadRequestError, 400),
    (ConfigError, 400),
    (RecordTooLargeError, 400),
    (RebalanceNeededError, 409),
    (NotLeaderError, 409),
    (NotAssignedError, 409),
    (RequestTimeoutError, 500),
    (UnsupportedError, 501),
)
"""The first class that an error is of decides; other errors are 500, and RequestRefusedError has its status itself."""
NO_LEADER: Final = (
    "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
)
TOO_MANY_HOPS: Final = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
_REBALANCE: Final = (
    "Cannot complete request momentarily due to stale configuration (typically caused by a concurrent config change)"
)
_VALIDATION: Final = (
    "You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`"
)
_RETRY: Final = {"Retry-After": "1"}


def error_answer(error: BaseException) -> Answer:
    """What a client is told of an error."""
    if isinstance(error, RequestRefusedError):
        return error_message(error.status, str(error))
    for kind, status in STATUSES:
        if isinstance(error, kind):
            return error_message(
                status, _text(error), _RETRY if status == 409 and kind is not AlreadyExistsError else {}
            )
    _log.error("a request failed: %s", described(error), exc_info=error)
    # The text of a foreign exception may hold anything: it goes to the log alone.
    return error_message(
        500, str(error) if isinstance(error, EosfwError) else f"Internal error: {type(error).__name__}"
    )


def _text(error: EosfwError) -> str:
    if isinstance(error, ConfigError):
        return _invalid_configuration(error)
    if isinstance(error, NotLeaderError | NotAssignedError):
        return NO_LEADER
    return _REBALANCE if isinstance(error, RebalanceNeededError) else str(error)


def _invalid_configuration(error: ConfigError) -> str:
    """The words of Connect's `AbstractHerder`, with which its clients tell a user what to change."""
    lines = [problem.what for problem in error.problems]
    return "\n".join(
        [
            f"Connector configuration is invalid and contains the following {len(lines)} error(s):",
            *lines,
            _VALIDATION,
        ]
    )
