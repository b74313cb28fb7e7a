"""The first call of a transactional producer, once librdkafka knows the cluster's brokers."""

from __future__ import annotations

from typing import Final

from confluent_kafka import KafkaException, Producer

from eosfw.concurrency import Runtime

_NO_TOPIC: Final = ".."
"""A name that no topic can have: it is asked for, so that the answer is short and no broker creates a topic."""
_PAUSE: Final = 0.001


class FirstContact:
    """`init_transactions` of one client; its first call waits until a broker has answered that is known by its id.

    librdkafka 2.16 drops the connection to a bootstrap address as soon as it has learned the brokers. A search for the
    coordinator that is under way there fails, and is repeated only half a second later: every other producer would
    start ten times as late.
    """

    def __init__(self, client: Producer, runtime: Runtime) -> None:
        self._client = client
        self._runtime = runtime
        self._is_made = False

    def __call__(self, timeout: float) -> None:
        """Begin, or resume, the call; what librdkafka raises is raised."""
        deadline = self._runtime.now() + timeout
        while not self._is_made and self._runtime.now() < deadline:
            self._is_made = self._is_known_broker(deadline - self._runtime.now())
        # Whatever hinders it is found by the call itself, too, which names it.
        self._is_made = True
        self._client.init_transactions(max(_PAUSE, deadline - self._runtime.now()))

    def _is_known_broker(self, timeout: float) -> bool:
        try:
            answer = self._client.list_topics(_NO_TOPIC, timeout=max(_PAUSE, timeout))
        except KafkaException:
            answer = None
        if answer is not None and answer.orig_broker_id >= 0:
            return True
        self._runtime.sleep(_PAUSE)
        return False
