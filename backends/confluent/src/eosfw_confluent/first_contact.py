"""The wait of a new producer until librdkafka knows the cluster's brokers."""

from __future__ import annotations

from typing import Final

from confluent_kafka import KafkaException, Producer

from eosfw.concurrency import Runtime

_NO_TOPIC: Final = ".."
"""A name that no topic can have: it is asked for, so that the answer is short and no broker creates a topic."""
_PAUSE: Final = 0.001


def await_known_broker(client: Producer, runtime: Runtime, timeout: float) -> None:
    """Wait until a broker has answered that is known by its id; whatever hinders it is left to the next call.

    librdkafka 2.16 drops the connection to a bootstrap address as soon as it has learned the brokers. A search for a
    coordinator, for a producer id or for the leader of a partition that is under way there fails, and is repeated only
    half a second to three seconds later: every other producer would start ten times as late.
    """
    deadline = runtime.now() + timeout
    while (left := deadline - runtime.now()) > 0:
        try:
            answer = client.list_topics(_NO_TOPIC, timeout=max(_PAUSE, left))
        except KafkaException:
            answer = None
        if answer is not None and answer.orig_broker_id >= 0:
            return
        runtime.sleep(_PAUSE)


class FirstContact:
    """`init_transactions` of one client; its first call waits for a known broker."""

    def __init__(self, client: Producer, runtime: Runtime) -> None:
        self._client = client
        self._runtime = runtime
        self._is_made = False

    def __call__(self, timeout: float) -> None:
        """Begin, or resume, the call; what librdkafka raises is raised."""
        deadline = self._runtime.now() + timeout
        if not self._is_made:
            await_known_broker(self._client, self._runtime, timeout)
            self._is_made = True
        self._client.init_transactions(max(_PAUSE, deadline - self._runtime.now()))
