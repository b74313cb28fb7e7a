"""Run one broker: start it from its logs, serve requests, do what is due, stop it. Kafka's `BrokerServer`.

Concurrency: one re-entrant lock for the whole broker, taken for the moment a handler runs and never across waiting.
Handlers are plain functions of a few microseconds, so finer locks would cost more than they give. With one lock, calls
from inside the process enter as requests from the network do (`serve`), from any thread, without passing through the
network's event loop.

Order of locks: the shared wait for the disk (`GroupFsync`) takes its own lock before this one, and waits for the disk
with its own alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from eosfw.concurrency import Runtime
from eosfw.security import Address
from eosfw.test_support import BrokerRestart
from eosfw_memory.common.background_tasks import BackgroundTasks
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation, DisconnectClientError
from eosfw_memory.common.interceptors import BrokerStoppedError
from eosfw_memory.common.log_errors import KafkaStorageError
from eosfw_memory.server.broker.log_manager import LogManager
from eosfw_memory.server.broker.partition_states import producers, states
from eosfw_memory.server.broker.settings import Settings
from eosfw_memory.server.broker.state import BrokerState
from eosfw_memory.server.broker.transaction_completion import StepwiseCompletion, transactional_id_of
from eosfw_memory.server.broker.unknown_transactions import end_unknown
from eosfw_memory.server.quotas.client_quota_manager import UNUSED_MS
from eosfw_memory.server.quotas.request_quota import RequestQuota
from eosfw_memory.server.security.principal import ANONYMOUS
from eosfw_memory.storage.files.topic_storage import TopicStorage
from eosfw_memory.storage.log.leader_epochs import LEADER_EPOCHS_PER_START
from eosfw_memory.storage.topics.topic import GROUP_LOG, TRANSACTION_LOG

_LOG = logging.getLogger(__name__)
_GROUP_TICK_MS: Final = 250
"""How exactly sessions of group members end."""
_OFFSETS_CHECK_MS: Final = 600_000
"""Kafka's default for `offsets.retention.check.interval.ms`."""


_HALTED: Final = "the broker's machine has no power"


class Context(NamedTuple):
    """What a handler knows of a request besides its fields."""

    version: int
    client_id: str = ""
    client_host: str = ""
    """The client's address, as Kafka shows it: with a slash before it."""
    in_process: bool = False
    """Whether it comes from our own client in this very process, hence its batches from our own codec."""
    listener: str = ""
    """The name of the listener on which it came."""
    principal: str = ANONYMOUS
    """Who the client is."""
    quota: RequestQuota | None = None
    """What the request costs; None where nobody has a quota, and for clients in this process."""


class Stop(NamedTuple):
    """How a broker stopped that was halted."""

    down: float = 0.0
    """Seconds from then on in which nobody is served."""
    power_cut: bool = False
    cut_short: int = 0
    """How many starts since then did not come to their end."""
    damage_refused: bool = False
    """Whether a start was refused until a damaged file was restored."""


Handler: TypeAlias = Callable[["Broker", Any, Context], "Answer | DelayedOperation | None"]
"""Answers one kind of request; None means that the client wants no answer."""


class Broker(BrokerState):
    """A broker without a network: its state, with what happens to it."""

    def __init__(
        self, settings: Settings, endpoint: Address, runtime: Runtime, storage: TopicStorage | None = None
    ) -> None:
        super().__init__(settings, endpoint, runtime, storage)
        self.interceptor: Callable[[Handler], Handler] | None = None
        """What code from outside puts around every handler."""
        self.background_tasks = BackgroundTasks()
        """What the broker does by itself; any part may add its own."""
        self.restart_log: list[BrokerRestart] = []
        """What each restart did to the state of partitions."""
        self._halted = False
        self._on_restart: list[Callable[[], None]] = []
        self._on_jump: list[Callable[[], None]] = []
        self._group_fsync = self.storage.group_fsync(self.lock, runtime)
        self._add_background_tasks()
        self._load()
        if self.storage.restored:
            self._fence_all()

    # --- requests

    def serve(self, handler: Handler, request: Any, context: Context) -> Answer | DelayedOperation | None:
        """Run a handler; any thread may call. Call `settle` once the answer is on its way."""
        with self.lock:
            if self.coordinator_record is None:
                return self._serve(handler, request, context)
            return self.coordinator_record.serve(
                handler.__module__, request, lambda: self._serve(handler, request, context)
            )

    def _serve(self, handler: Handler, request: Any, context: Context) -> Answer | DelayedOperation | None:
        intercepted = handler if self.interceptor is None else self.interceptor(handler)
        serve = partial(intercepted, self, request, context)
        if self._group_fsync is None:
            return serve()
        # A fetch acknowledges nothing, and a second one would be out of order for its session.
        durably = partial(self._group_fsync.after_fsync, serve, acknowledges=not handler.__module__.endswith(".fetch"))
        # Else a client whose commit was just acknowledged would be told ConcurrentTransactions, and wait long.
        return self._group_fsync.after_transaction_end(transactional_id_of(request), durably)

    def attempt(self, delayed: DelayedOperation, *, expired: bool) -> Answer | None:
        """Try a delayed answer again."""
        with self.lock:
            if self._halted:
                raise DisconnectClientError(_HALTED)
            return delayed.attempt(expired)

    def await_answer(self, delayed: DelayedOperation, wake: Callable[[], None]) -> None:
        """Have `wake` called whenever a delayed answer is worth another attempt."""
        with self.lock:
            delayed.subscribe(wake)

    def give_up(self, delayed: DelayedOperation) -> None:
        """Stop waiting for a delayed answer."""
        with self.lock:
            delayed.cancel()

    def settle(self) -> None:
        """Write the markers of transactions that were decided (EndTxn is answered before, as Kafka does)."""
        if not self.coordinator.markers.is_empty:
            with self.lock:
                if self._group_fsync is None:
                    self._finish()
                else:
                    self._group_fsync.request_flush()

    def _finish(self) -> None:
        while not self.down:
            try:
                self.coordinator.markers.complete_all(self.now_ms())
            except BrokerStoppedError as stopped:  # once restarted, the broker goes on with the markers
                self.restart(stopped.down)
            else:
                break

    def act(self, run: Callable[[], None]) -> None:
        """Run something that no client asks for just now."""
        with self.lock:
            run()
        self.settle()

    # --- start and stop

    def _load(self) -> None:
        """Rebuild every state from its log, then go on with the transactions that were decided (COR-14)."""
        if self.acls is not None:
            self.acls.load()
        self.quota_control.load()
        self.scram.load()
        self.group_configs.load()
        if self.topics.by_name(TRANSACTION_LOG) is not None:
            self.coordinator.load()
            self.coordinator.state.on_clock_moved_back(self.now_ms())
        if self.topics.by_name(GROUP_LOG) is not None:
            self.groups.store.load(self.now_ms())
            # A stop may have come between the end of a topic and that of its offsets.
            self.groups.on_topics_deleted(lambda name: self.topics.by_name(name) is None, self.now_ms())
        # On a failed disk neither a marker nor the coordinator's state can be written: the next start does it.
        if not self.describe_log_dir().failed:
            end_unknown(self)
        if self._group_fsync is not None:
            self._group_fsync.start(StepwiseCompletion(self, self.restart))
        self.settle()

    def _fence_all(self) -> None:
        """Fence the producers that may have seen what an older copy of the data does not know."""
        for name in self.coordinator.fence_all(self.now_ms()):
            _LOG.warning("transactional id %r: whoever holds it was fenced", name)
        self.storage.producers_fenced()
        self.settle()

    def close(self) -> None:
        """Stop; nobody calls the broker any more.

        The shared wait for the disk ends first, since it still completes transactions, which changes the state to save.
        """
        if self._group_fsync is not None:
            self._group_fsync.close()
        with self.lock:
            self.save_coordinators()
            self.storage.close(self.topics.logs())

    def restart(self, down: float = 0.0) -> None:
        """Stop without any order, start again from the logs; for `down` seconds the broker serves nobody.

        Every connection is dropped; what was in memory alone is lost.
        """
        with self.lock:
            if self._halted:
                return
            # Before the replay: what was delayed until now must not be answered from the state that is rebuilt.
            self._up_at = self._runtime.now() + down
            self.restarts += 1
            self.fetch_sessions.clear()
            logs = self.topics.logs()
            known = producers(logs)
            before, now = states(logs, known), self._runtime.now()
            if self.coordinator_record is not None:
                self.coordinator_record.stop(self.coordinator, self.groups)
            self._begin_leader_epochs()
            for log in logs.values():
                log.rebuild_producer_state()
            self.restart_log.append(BrokerRestart(now, self.settings.waits_for_disk, before, states(logs, known)))
            self._load()
            if self.coordinator_record is not None:
                self.coordinator_record.start(self.coordinator, self.groups)
            for call in self._on_restart:
                call()

    def halt(self) -> None:
        """Stop for good, as without power: nobody is answered any more, and no thread of its own goes on."""
        with self.lock:
            self._halted, self._up_at = True, inf
            self.interceptor = lambda _: _refuse
            if self._group_fsync is not None:
                self._group_fsync.abandon()

    def waiting_answers(self) -> int:
        """How many answers wait until what they acknowledge is on the disk."""
        return 0 if self._group_fsync is None else self._group_fsync.waiting

    def take_over(self, halted: Broker, stop: Stop) -> None:
        """Serve in place of a broker that was halted."""
        self._up_at = self._runtime.now() + stop.down
        self.restarts, self._on_restart = halted.restarts + 1, halted._on_restart
        now, waits = self._runtime.now(), self.settings.waits_for_disk
        read_only = self.describe_log_dir().failed
        begun = BrokerRestart(
            now,
            waits,
            {},
            {},
            power_cut=stop.power_cut,
            cut_short=stop.cut_short,
            read_only=read_only,
            damage_refused=stop.damage_refused,
        )
        self.restart_log = [*halted.restart_log, begun]
        if self.coordinator_record is not None and halted.coordinator_record is not None:
            halted.coordinator_record.stop(halted.coordinator, halted.groups)
            self.coordinator_record.go_on_from(halted.coordinator_record)
            self.coordinator_record.start(self.coordinator, self.groups)
        for call in self._on_restart:
            call()

    def _begin_leader_epochs(self) -> None:
        """Lead every partition in a later epoch, as a start does, unless the disk cannot keep that one was begun."""
        with suppress(KafkaStorageError):
            self.storage.begin_epoch()
            for log in self.topics.logs().values():
                log.assign_epoch(log.leader_epoch + LEADER_EPOCHS_PER_START)

    def on_restart(self, call: Callable[[], None]) -> None:
        """Have a function called, on whatever thread, at every restart."""
        self._on_restart.append(call)

    # --- time

    def run_due_tasks(self) -> None:
        """Run the background tasks that are due."""
        with self.lock:
            try:
                self.background_tasks.run(self.now_ms())
            except BrokerStoppedError as stopped:
                self.restart(stopped.down)
        self.settle()

    def idle_seconds(self) -> float:
        """How long until `run_due_tasks` has something to do."""
        with self.lock:
            return self.background_tasks.wait_ms(self.now_ms()) / 1000

    def jump(self, seconds: float) -> None:
        """Let time pass at once, or with less than 0 go back; the next `run_due_tasks` sees which timeouts passed."""
        with self.lock:
            self._epoch_seconds += seconds
            now_ms = self.now_ms()
            self.background_tasks.on_clock_moved_back(now_ms)
            self.coordinator.state.on_clock_moved_back(now_ms)
            self.groups.on_clock_moved_back(now_ms)
            for log in self.topics.logs().values():
                log.on_clock_moved_back(now_ms)
            if seconds < 0:
                self.client_quotas.on_clock_moved_back()
            for call in self._on_jump:
                call()

    def on_jump(self, call: Callable[[], None]) -> None:
        """Have a function called, on whatever thread, whenever time has jumped."""
        self._on_jump.append(call)

    def _add_background_tasks(self) -> None:
        tasks, settings, groups, now_ms = self.background_tasks, self.settings, self.groups, self.now_ms()
        tasks.add("ending late transactions", settings.abort_timed_out_interval_ms, self._abort_timed_out, now_ms)
        tasks.add("forgetting transactional ids", settings.expire_ids_interval_ms, self._expire_ids, now_ms)
        tasks.add("ending sessions of groups", _GROUP_TICK_MS, groups.tick, now_ms, groups.is_empty)
        tasks.add("forgetting rates of clients", UNUSED_MS, self.client_quotas.forget_unused, now_ms)
        tasks.add("forgetting offsets of groups", _OFFSETS_CHECK_MS, groups.expire_offsets, now_ms)
        LogManager(self.topics, settings, self.coordinator.state.undecided_writes).add_to(tasks, now_ms)

    def _abort_timed_out(self, now_ms: int) -> None:
        for name in self.coordinator.abort_timed_out(now_ms):
            _LOG.info("transaction of %r was open beyond its timeout: aborted, its producer fenced", name)

    def _expire_ids(self, now_ms: int) -> None:
        for name in self.coordinator.expire(now_ms):
            _LOG.info("transactional id %r was not used for long: forgotten", name)


def _refuse(*_: object) -> NoReturn:
    raise DisconnectClientError(_HALTED)
