"""What a task's process asks of its worker, and tells it."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from eosfw.concurrency import Queue, Runtime
from eosfw.errors import RetriableError
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Metric, event_to_json
from eosfw.runtime.hosting.connection import ConnectionLostError, Message, TaskConnection
from eosfw.runtime.hosting.messages import error_from_json, metrics_to_json, status_to_json
from eosfw.runtime.status import TaskStatus
from eosfw.runtime.storage.config_topic import ConfigTopic
from eosfw.state.steps import StepEvent

REPORT_INTERVAL: Final = 0.1
"""Seconds between two messages with steps and status."""
METRICS_INTERVAL: Final = 1.0
"""Seconds between two looks at the metrics of plugins, which call them."""
_MOST_UNSENT: Final = 20_000
"""Steps that wait for being sent, before the task waits for the worker to take them."""
_TIMEOUT: Final = 90.0
"""Seconds that a question may take, as Connect's REST operations do (CFG-10)."""

Do = Callable[[Message], None]


class WorkerClient:
    """The connection of one task's process; thread-safe.

    The worker leads its group, so it fences, and it knows which process is a task's newest. So this is the task's
    `FencingLeader` and `TaskOwner` (Kafka Connect asks its leader by REST).
    """

    def __init__(self, connection: TaskConnection, runtime: Runtime) -> None:
        self._connection, self._runtime = connection, runtime
        self._lock = runtime.lock()
        self._answers: dict[int, Queue[Message]] = {}
        self._asked = 0
        self._events: deque[str] = deque()
        self._logs: deque[tuple[int, str, str]] = deque(maxlen=1000)
        self._topics: deque[str] = deque()
        self._reported: dict[str, Any] | None = None
        self._measured: list[list[Any]] = []
        self.lost = runtime.event()
        """Set when the worker is gone."""
        self.config_topic: ConfigTopic | None = None
        """Read again after a fencing; set before the task starts."""

    # --- what the task asks

    def fence_zombies(self, connector: str, generation: int) -> None:
        """Have the worker fence for the generation that this process was started for."""
        self._ask("fence")
        if self.config_topic is not None:
            self.config_topic.read_to_end()  # the worker has written the task count record, which comes next

    def is_assigned(self, task: ConnectorTaskId, generation: int) -> bool:
        """Whether the worker still owns the generation, and has seen no newer process for the task."""
        try:
            return bool(self._ask("assigned").get("value"))
        except RetriableError:  # without the worker nobody can say so; whether another process is needed, the host asks
            self._on_lost()
            return False

    def _ask(self, question: str) -> Message:
        answers: Queue[Message] = self._runtime.queue()
        with self._lock:
            self._asked = number = self._asked + 1
            self._answers[number] = answers
        try:
            # The queue is registered before the question is sent: the answer may come before `send` returns.
            self._send({"ask": question, "number": number})
            # Lost between the two: `_on_lost` may have run before this queue was there to be told.
            if self.lost.is_set():
                raise ConnectionLostError("the connection to the worker is lost")
            answer = answers.get(_TIMEOUT)
        except TimeoutError:
            raise RetriableError(f"the worker did not answer within {_TIMEOUT:g} s") from None
        finally:
            with self._lock:
                del self._answers[number]
        if "error" in answer:
            raise error_from_json(answer["error"])
        return answer

    # --- what the task tells

    def announce(self, event: StepEvent) -> None:
        """Have a step sent; blocks while the worker takes none, so that no committed record lacks in its counts."""
        while len(self._events) >= _MOST_UNSENT and not self.lost.is_set():
            self._runtime.sleep(REPORT_INTERVAL)
        self._events.append(event_to_json(event))

    def on_topic(self, topic: str) -> None:
        """Have a topic sent that the task writes to."""
        self._topics.append(topic)

    def log(self, record: logging.LogRecord) -> None:
        """Have a line of the log sent."""
        self._logs.append((record.levelno, record.name, record.getMessage()))

    def report(self, status: TaskStatus, metrics: Sequence[Metric] | None = None, *, ended: bool = False) -> None:
        """Send what has come together, and status and metrics if they have changed; None: nobody has looked.

        With metrics something is sent in any case, so that the worker hears of the process. ConnectionLostError if
        nobody takes it.
        """
        message: dict[str, Any] = {}
        measured = self._measured if metrics is None else metrics_to_json(metrics)
        if measured != self._measured:
            message["metrics"] = measured
        if self._events:
            message["events"] = [self._events.popleft() for _ in range(len(self._events))]
        if self._logs:
            message["logs"] = [self._logs.popleft() for _ in range(len(self._logs))]
        if self._topics:
            message["topics"] = [self._topics.popleft() for _ in range(len(self._topics))]
        told = status_to_json(status)
        if told != self._reported or ended:
            message |= {"status": told, "ended": ended}
        if message or metrics is not None:
            self._send(message)
            self._reported, self._measured = told, measured

    # --- what the worker says

    def listen(self, do: Do) -> None:
        """Pass on what the worker asks for, until the connection ends."""
        while (message := self._connection.receive()) is not None:
            if "answer" in message:
                with self._lock:
                    waiting = self._answers.get(message["answer"])
                if waiting is not None:
                    waiting.put(message)
            elif "do" in message:
                do(message)
        self._on_lost()

    def _send(self, message: Message) -> None:
        try:
            self._connection.send(message)
        except ConnectionLostError:
            self._on_lost()
            raise

    def _on_lost(self) -> None:
        self._connection.close()
        self.lost.set()
        error = {"bases": ["RetriableError"], "text": "the connection to the worker is lost", "exit_code": 1}
        with self._lock:
            waiting = list(self._answers.values())
        for one in waiting:
            one.put({"error": {**error, "cause": None}})
