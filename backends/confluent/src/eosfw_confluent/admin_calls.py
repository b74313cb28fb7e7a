"""Calls of librdkafka's admin client that keep their deadlines, and are repeated where that helps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata  # type: ignore[attr-defined]

from eosfw.concurrency import Runtime
from eosfw.errors import ClusterUnavailableError, EosfwError, IllegalStateError
from eosfw.retry_timer import RetryTimer
from eosfw.security import FirstAuthentication
from eosfw_confluent.coordinator_client import Answer, CoordinatorClient
from eosfw_confluent.deadline_call import DeadlineCall
from eosfw_confluent.errors import ADMIN, translated_errors
from eosfw_confluent.events import ClientEvents
from eosfw_confluent.producer_takeover import MakeProducer

LEADER_POLL = 0.02
"""Seconds between two looks for leaders."""
_MARGIN = 1.0
"""Seconds to wait for an answer beyond the timeout that librdkafka has."""
_LONGEST_WAIT = 0.2
"""Seconds between two looks whether the client was closed while an answer is awaited."""
_COORDINATOR_PAUSE = 0.1
_FIRST_PATIENCE = 1.0
"""Seconds for the first answer of a group's coordinator; each further attempt gets twice as many."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AdminSettings:
    """The cluster, the seconds of a call, the maker of producers that fence an id, the first authentication."""

    servers: str
    timeout: float
    make_producer: MakeProducer
    authentication: FirstAuthentication


class AdminCalls:
    """Calls one handle of librdkafka until it is closed."""

    def __init__(self, config: dict[str, Any], settings: AdminSettings, runtime: Runtime) -> None:
        self._events = ClientEvents()
        make_client = partial(AdminClient, {**config, **self._events.client_config()})
        self._client: AdminClient | None = make_client()
        self._coordinators = CoordinatorClient(make_client, settings.timeout)
        self._settings, self._runtime = settings, runtime
        self._knows_brokers = False

    def open(self) -> AdminClient:
        """The handle; IllegalStateError once it is closed."""
        if self._client is None:
            raise IllegalStateError("this admin client is closed")
        return self._client

    def close(self) -> None:
        """Destroy the handles."""
        self._client = None
        self._coordinators.close()

    def describe(self, what: str) -> str:
        """A call, in the words of its errors."""
        return f"{what} at {self._settings.servers}"

    def call(self, call: Callable[[AdminClient, float], T], what: str) -> T:
        """Make a call, which is given the handle and the seconds it may take; raise its error."""
        client = self.open()
        self._settings.authentication.require()
        with translated_errors(ADMIN, self.describe(what)):
            answer = call(client, self._settings.timeout)
            # Only poll() runs the log and error callbacks of this client.
            client.poll(0)
            return answer

    def result(self, future: Answer[T], what: str, seconds: float | None = None) -> T:
        """Wait for an answer, by default a little longer than librdkafka does; raise its error."""
        deadline = self._runtime.now() + (self._settings.timeout + _MARGIN if seconds is None else seconds)
        while True:
            left = deadline - self._runtime.now()
            try:
                with translated_errors(ADMIN, self.describe(what)):
                    return future.result(max(0, min(_LONGEST_WAIT, left)))
            except TimeoutError:
                self.open()  # a handle that close() has destroyed answers nothing any more
            if left <= 0:
                raise self.unanswered(what)

    def outcome(self, future: Answer[T], what: str, seconds: float | None = None) -> T | EosfwError:
        """Wait for an answer; return it, or its error."""
        try:
            return self.result(future, what, seconds)
        except EosfwError as why:
            return why

    def learn_brokers(self, what: str) -> None:
        """Have the brokers described before a call that looks for leaders of partitions.

        librdkafka drops its connection to a bootstrap server once it knows the brokers. A question for leaders that is
        on its way there is lost then, and asked again 1 or 3 s later.
        """
        if not self._knows_brokers:
            self.result(self.call(lambda client, wait: client.describe_cluster(request_timeout=wait), what), what)
            self._knows_brokers = True

    def metadata(self, what: str) -> ClusterMetadata:
        """The brokers and all topics.

        On a thread of its own: librdkafka's call ends neither by close() nor by Ctrl-C, and may wait as long as any.
        """
        deadline = self._runtime.now() + self._settings.timeout + _MARGIN
        found: list[ClusterMetadata] = []

        def left() -> float | None:
            self.open()
            return min(_LONGEST_WAIT, deadline - self._runtime.now()) if self._runtime.now() < deadline else None

        def ask() -> None:
            found.append(self.call(lambda client, timeout: client.list_topics(timeout=timeout), what))

        if not DeadlineCall(self._runtime, "eosfw-metadata").run(ask, left):
            raise self.unanswered(what)
        return found[0]

    def coordinator_outcomes(
        self, call: Callable[[AdminClient, float], Mapping[str, Answer[T]]], what: str, seconds: float
    ) -> dict[str, T | EosfwError]:
        """Ask the coordinators of groups; return by group what its coordinator answered in time, or its error."""
        self.open()
        self._settings.authentication.require()
        deadline = self._runtime.now() + seconds
        with self._coordinators.ask(call, self.describe(what)) as answers:
            outcomes: dict[str, T | EosfwError] = {}
            for group, one in answers.items():
                outcomes[group] = self.outcome(one, f"{what} {group!r}", deadline - self._runtime.now())
            return outcomes

    def ask_coordinator(self, ask: Callable[[float], T]) -> T:
        """Repeat a call to the coordinator of a group, which is given its seconds; at the deadline its error is raised.

        A new cluster has no coordinator for a second or two. librdkafka (2.16) looks for it three times, and is then
        silent until the call times out.
        """
        timer = RetryTimer(self._runtime, self._runtime.now() + self._settings.timeout, pause=_COORDINATOR_PAUSE)
        patience = _FIRST_PATIENCE
        while True:
            try:
                return ask(min(patience, timer.remaining()))
            except ClusterUnavailableError:
                if not timer.backoff():
                    raise
            patience *= 2

    def retry_until_deadline(self, call: Callable[[], T], *also: type[EosfwError]) -> T:
        """Repeat a call while leaders move; at the deadline its last error is raised."""
        deadline = self._runtime.now() + self._settings.timeout
        while True:
            try:
                return call()
            except EosfwError as why:
                if (
                    not isinstance(why, (ClusterUnavailableError, *also))
                    or self._runtime.now() + LEADER_POLL >= deadline
                ):
                    raise
            self._runtime.sleep(LEADER_POLL)
            self._refresh_metadata(deadline)

    def _refresh_metadata(self, deadline: float) -> None:
        # After FENCED_LEADER_EPOCH librdkafka repeats the old epoch until its metadata is refreshed.
        with suppress(KafkaException):  # the next call raises the error
            self.open().list_topics(timeout=max(LEADER_POLL, deadline - self._runtime.now()))

    def unanswered(self, what: str) -> EosfwError:
        """The error of a call that no broker answered in time."""
        return ClusterUnavailableError(
            f"{self.describe(what)}: no answer within {self._settings.timeout:g} s{self._events.hint}; "
            "is the cluster running, is bootstrap.servers right?"
        )
