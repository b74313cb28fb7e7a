"""What happens to records that cannot be transformed or converted (Kafka Connect's `errors.*`)."""

from __future__ import annotations

from dataclasses import dataclass

from eosfw.config.definition.config_def import Boolean, Choice, Config, Long

RETRY_TIMEOUT = "errors.retry.timeout"
RETRY_DELAY_MAX = "errors.retry.delay.max.ms"
TOLERANCE = "errors.tolerance"
LOG_ENABLE = "errors.log.enable"
LOG_MESSAGES = "errors.log.include.messages"
_GROUP = "Error Handling"

ERROR_KEYS = (
    Long(
        RETRY_TIMEOUT,
        0,
        "for how many ms a transformation or converter that failed for a passing reason is tried again; -1: for ever",
        at_least=-1,
        group=_GROUP,
        width="MEDIUM",
        display_name="Retry Timeout for Errors",
    ),
    Long(
        RETRY_DELAY_MAX,
        60_000,
        "the longest pause between two of these trials, in ms",
        at_least=1,
        group=_GROUP,
        width="MEDIUM",
        display_name="Maximum Delay Between Retries for Errors",
    ),
    Choice(
        TOLERANCE,
        "none",
        "all: a record that cannot be transformed or converted is dropped, and its source offset commits; none: the "
        "task fails",
        among=("none", "all"),
        group=_GROUP,
        width="SHORT",
        display_name="Error Tolerance",
    ),
    Boolean(
        LOG_ENABLE,
        False,
        "log each record that cannot be transformed or converted, also one that is dropped",
        group=_GROUP,
        width="SHORT",
        display_name="Log Errors",
    ),
    Boolean(
        LOG_MESSAGES,
        False,
        "log also which record it is: topic, partition, source partition, source offset, timestamp, types of key and "
        "value, names of headers; unlike Kafka Connect never what it holds",
        group=_GROUP,
        width="SHORT",
        display_name="Log Error Details",
    ),
)


@dataclass(frozen=True, slots=True)
class ErrorHandlingConfig:
    """The values of `errors.*`; durations in seconds."""

    retry_timeout: float = 0.0
    """Infinite for -1."""
    retry_delay_max: float = 60.0
    tolerate_all: bool = False
    log: bool = False
    log_messages: bool = False

    @classmethod
    def from_connector(cls, connector: Config) -> ErrorHandlingConfig:
        """The values for a connector."""
        timeout = connector[RETRY_TIMEOUT]
        return cls(
            retry_timeout=float("inf") if timeout < 0 else timeout / 1000,
            retry_delay_max=connector[RETRY_DELAY_MAX] / 1000,
            tolerate_all=connector[TOLERANCE] == "all",
            log=connector[LOG_ENABLE],
            log_messages=connector[LOG_MESSAGES],
        )
