"""Serve an embedded cluster from this process. Kafka Connect's `EmbeddedKafkaCluster`."""

from __future__ import annotations

import errno
import itertools
import os
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

from eosfw.concurrency import Runtime
from eosfw.config.security import SecurityProtocol
from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import OpenTransaction
from eosfw.security import Address, is_loopback
from eosfw.test_support import BrokerRestart, CoordinatorEvent, CoordinatorsRebuilt, DiskFailure
from eosfw_memory.common.background_tasks import BackgroundThread
from eosfw_memory.common.log_errors import LogError
from eosfw_memory.faults import FaultInjector
from eosfw_memory.server.broker import introspection as broker_introspection
from eosfw_memory.server.broker.acl_control_manager import AclControlManager
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.broker.settings import Settings
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.server.network.socket_server import OpenListener, SocketServer
from eosfw_memory.server.security import principal
from eosfw_memory.server.security.acl.authorizer_config import AUTHORIZER_CLASS
from eosfw_memory.server.security.acl.right_text import parse_right
from eosfw_memory.server.security.listeners import THROWAWAY, THROWAWAY_USERS, Listener
from eosfw_memory.server.security.throwaway import Throwaway
from eosfw_memory.server.security.tls import server_context
from eosfw_memory.storage.files.topic_storage import TopicStorage
from eosfw_memory.storage.log.log_memory import LogMemory

if TYPE_CHECKING:
    from eosfw_memory.faults.machine import Machine

_BACKLOG = 128
_ANY_HOST = ("", "0.0.0.0", "::")
_NOWHERE = "a-broker-without-a-port.invalid"
"""A name that never resolves (RFC 2606): the error of a client that opens a socket shows what is wrong."""
_NUMBERS = itertools.cycle(range(1, 65536))
_SERVED: dict[str, EmbeddedCluster] = {}
"""The clusters of this process by address. Any thread may read it: single operations on a dict are atomic."""


def served_here(bootstrap_servers: str) -> EmbeddedCluster | None:
    """The open cluster of this process with an address in `bootstrap.servers`, if there is one."""
    found = (_SERVED.get(address.strip()) for address in bootstrap_servers.split(","))
    return next((cluster for cluster in found if cluster is not None and cluster.is_open()), None)


class _Server(Protocol):
    """What runs a broker besides calls: its network, or a thread for its background tasks."""

    def close(self) -> None:
        """End all threads and connections."""


class EmbeddedCluster:
    """One broker with a port; without `listeners`, one that only this process can call.

    Only clients without security properties call it directly; others go through its ports, so that they meet what their
    properties meet elsewhere.
    """

    name: ClassVar[str] = "memory"

    def __init__(
        self,
        faults: FaultInjector,
        server: _Server,
        listens_on: str,
        throwaway: Throwaway | None = None,
    ) -> None:
        self.faults = faults
        """Failures to inject, for tests: `faults.add("lose", request="EndTxn")`."""
        self._server = server
        broker = self.broker
        self.bootstrap_servers = str(broker.endpoint)
        self.listens_on = listens_on
        self.endpoints = _endpoints(broker)
        """Where clients find each listener, by its name; the first is that of `bootstrap_servers`."""
        self._throwaway = throwaway
        self._process = os.getpid()
        self._open = True
        self._called_at = _called_at(broker)
        _SERVED.update(dict.fromkeys(self._called_at, self))

    @classmethod
    def start(cls, properties: Mapping[str, str], runtime: Runtime) -> Self:
        """Serve a fresh cluster; the port is open on return."""
        throwaway = _throwaway(properties)
        try:
            return cls._start(Settings.parse(properties if throwaway is None else throwaway.broker), runtime, throwaway)
        except BaseException:
            if throwaway is not None:
                throwaway.remove()
            raise

    @classmethod
    def _start(cls, settings: Settings, runtime: Runtime, throwaway: Throwaway | None) -> Self:
        if not settings.listeners:
            broker, faults = _broker(settings, Address(_NOWHERE, next(_NUMBERS)), runtime)
            background = BackgroundThread(faults.run_due_tasks, faults.idle_seconds, runtime)
            return cls(faults, background, str(broker.endpoint))
        opened = _open(settings.listeners)
        try:
            broker, faults = _broker(settings, _advertised(opened[0]), runtime)
        except BaseException:
            _close(opened)
            raise
        broker.endpoints |= {each.listener.name: _advertised(each) for each in opened[1:]}
        return cls(faults, SocketServer(broker, opened, runtime), _listens_on(opened), throwaway)

    @property
    def broker(self) -> Broker:
        """The broker that serves now."""
        return self.faults.broker

    def open_transactions(self) -> Sequence[OpenTransaction]:
        """Every transaction that is open now, once for each partition it has written to."""
        return broker_introspection.open_transactions(self.broker)

    @property
    def restarts(self) -> Sequence[BrokerRestart]:
        """What each restart of the broker did to its state, oldest first."""
        return self.broker.restart_log

    @property
    def disk_failures(self) -> Sequence[DiskFailure]:
        """Each call of the disk that a fault has let fail."""
        return self.faults.disk_failures

    @property
    def refusal(self) -> str | None:
        """Why the broker did not start again; None while it serves."""
        return self.faults.refusal

    @property
    def coordinator_events(self) -> Sequence[CoordinatorEvent | CoordinatorsRebuilt]:
        """What its coordinators were asked and answered; none without `eosfw.record.coordinators`."""
        record = self.broker.coordinator_record
        return () if record is None else record.events

    @property
    def client_properties(self) -> Mapping[str, str]:
        """What clients need beside `bootstrap.servers` if `eosfw.tls.auto` made it."""
        listeners = self.broker.settings.listeners
        return self._throwaway.client(listeners[0]) if self._throwaway is not None and listeners else {}

    def client_properties_of(self, user: str) -> Mapping[str, str]:
        """What a user of `eosfw.tls.auto.users` needs beside `bootstrap.servers`; ConfigError for no such user."""
        throwaway, listeners = self._throwaway, self.broker.settings.listeners
        if throwaway is None or user not in throwaway.passwords or not listeners:
            raise ConfigError(Problem(THROWAWAY_USERS, f"it has made no user {user!r}"))
        return throwaway.client(listeners[0], user)

    def allow(self, user: str, *rights: str) -> None:
        """Give a user rights: `Write on topic orders`, or deny one: `Deny Read on group g`; raise ConfigError."""
        acls = self._acls()
        made = [parse_right(each, principal.user(user)) for each in rights]
        self.broker.act(lambda: acls.create(made))

    def revoke(self, user: str, *rights: str) -> None:
        """Take back what `allow` gave, in the same words."""
        acls = self._acls()
        made = [parse_right(each, principal.user(user)) for each in rights]
        self.broker.act(lambda: acls.delete(made))

    def _acls(self) -> AclControlManager:
        if self.broker.acls is None:
            raise ConfigError(Problem(AUTHORIZER_CLASS, "without it everybody may do everything: there are no rights"))
        return self.broker.acls

    def is_open(self) -> bool:
        """Whether it can be called from here; a forked child has a copy of the memory, not the cluster."""
        return self._open and self._process == os.getpid()

    def producer_of(self, partition: TopicPartition, offset: int) -> ProducerIdAndEpoch | None:
        """Who wrote a record; None for one of no transactional or idempotent producer, or where there is none."""
        return broker_introspection.producer_of(self.broker, partition, offset)

    def close(self) -> None:
        """Stop serving: no port, thread or connection remains; a second call does nothing."""
        if not self._open:
            return
        self._open = False
        for address in self._called_at:
            if _SERVED.get(address) is self:
                del _SERVED[address]
        self.faults.close()
        self._server.close()
        self.broker.close()
        if self._throwaway is not None:
            self._throwaway.remove()


def _broker(settings: Settings, endpoint: Address, runtime: Runtime) -> tuple[Broker, FaultInjector]:
    """A broker with what its directory holds, and its faults; the directory stays free when that cannot be read."""
    machine = _machine(settings, runtime)
    storage = _storage(settings) if machine is None else machine.start()
    try:
        try:
            broker = Broker(settings, endpoint, runtime, storage)
        except LogError as why:  # a log that holds the state of a coordinator cannot be read
            raise DamagedDataError(str(why)) from why
        faults = FaultInjector(broker, runtime, machine)
        if settings.faults is not None:
            faults.load(settings.faults)
    except BaseException:
        storage.release()
        raise
    return broker, faults


def _machine(settings: Settings, runtime: Runtime) -> Machine | None:
    """The machine whose power a fault may cut; raise ConfigError for a broker that cannot be halted."""
    if settings.power_cuts is None:
        return None
    if settings.listeners or settings.directory is None or not settings.waits_for_disk:
        why = "needs log.dirs, log.flush.interval.messages=1, and no listeners"
        raise ConfigError(Problem("eosfw.power.cuts", why))
    from eosfw_memory.faults.machine import Machine  # as below

    return Machine(settings.directory, settings.power_cuts, runtime)


def _storage(settings: Settings) -> TopicStorage:
    if settings.directory is None:
        return TopicStorage(LogMemory(settings.memory_bytes))
    from eosfw_memory.storage.files.data_directory import DataDirectory  # not every system has the locks that it needs

    return DataDirectory.open(settings.directory, waits=settings.waits_for_disk, node_id=NODE_ID)


def _throwaway(properties: Mapping[str, str]) -> Throwaway | None:
    wanted = properties.get(THROWAWAY, "").strip().lower() == "true"
    return Throwaway.make(properties) if wanted else None


def _endpoints(broker: Broker) -> dict[str, str]:
    return {each.name: str(broker.endpoint_for(each.name)) for each in broker.settings.listeners}


def _called_at(broker: Broker) -> tuple[str, ...]:
    """The addresses where clients of this process call the broker directly.

    Not those with TLS or SASL: else a wrong password would be none in the tests of an author.
    """
    listeners = broker.settings.listeners
    if not listeners:
        return (str(broker.endpoint),)
    open_to_all = (each.name for each in listeners if each.protocol is SecurityProtocol.PLAINTEXT)
    return tuple(str(broker.endpoint_for(name)) for name in open_to_all)


def _open(listeners: Sequence[Listener]) -> list[OpenListener]:
    """Listen everywhere, or nowhere if one of them fails."""
    opened: list[OpenListener] = []
    for listener in listeners:
        _refuse_remote_addresses(listener)
    try:
        for listener in listeners:
            context = None if listener.tls is None else server_context(listener.tls, listener.name)
            opened.append(OpenListener(listener, _listen(listener.where), context))
    except BaseException:
        _close(opened)
        raise
    return opened


def _close(opened: Sequence[OpenListener]) -> None:
    for each in opened:
        each.socket.close()


def _advertised(opened: OpenListener) -> Address:
    """Where clients are told to connect."""
    listens_on, advertised = _bound(opened), opened.listener.advertised
    return Address(advertised.host, advertised.port or listens_on.port) if advertised else listens_on


def _bound(opened: OpenListener) -> Address:
    return Address(*opened.socket.getsockname()[:2])


def _listens_on(opened: Sequence[OpenListener]) -> str:
    """The address of the only listener, or those of all of them with their names."""
    if len(opened) == 1:
        return str(_bound(opened[0]))
    return ",".join(f"{each.listener.name}://{_bound(each)}" for each in opened)


def _refuse_remote_addresses(listener: Listener) -> None:
    """Raise ConfigError where other machines could connect and `advertised.listeners` does not name the listener."""
    if listener.advertised is not None or is_loopback(listener.where.host):
        return
    host = listener.where.host
    if not listener.authenticates:
        raise ConfigError(
            Problem(
                "listeners",
                f"{host or '*'} can be reached from other machines, without any authentication; "
                "if that is meant, say in advertised.listeners (eosfw broker: --advertised) where clients find it",
            )
        )
    if host in _ANY_HOST:
        say = (
            f"{host or '*'} is no address to connect to: say in advertised.listeners where clients find {listener.name}"
        )
        raise ConfigError(Problem("listeners", say))


def _listen(where: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
    try:
        return socket.create_server((where.host, where.port), family=family, backlog=_BACKLOG)
    except OSError as why:
        raise ConfigError(Problem("listeners", _explained(where, why))) from why


def _explained(where: Address, why: OSError) -> str:
    if why.errno == errno.EADDRINUSE:
        return f"cannot listen on {where}: the port is in use; stop who uses it, or take another (0 for any free one)"
    return f"cannot listen on {where}: {why.strerror or why}"
