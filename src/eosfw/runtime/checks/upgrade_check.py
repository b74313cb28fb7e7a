"""Whether a group is ready to change its mode of exactly-once support (KIP-618's rolling upgrades, UPG-01..04)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from functools import partial

from eosfw.concurrency import Runtime
from eosfw.config import Config, clients
from eosfw.config.connector import OFFSETS_TOPIC
from eosfw.config.parts import OFFSET_STORE, chosen
from eosfw.config.worker import SUPPORT
from eosfw.errors import EosfwError
from eosfw.protocols import Admin, Backend, IsolationLevel
from eosfw.registry import Plugins, parts
from eosfw.runtime.checks.preflight import framework_config
from eosfw.runtime.group.members_topic import MembersTopic
from eosfw.runtime.group.services import live_workers
from eosfw.runtime.storage.config_topic import ConfigTopic
from eosfw.runtime.storage.connector_offset_backing_store import offset_topics
from eosfw.runtime.storage.internal_topics import members_topic_name, offsets_topic
from eosfw.runtime.storage.kafka_based_log import LogSource
from eosfw.runtime.storage.offset_storage_reader import OffsetStorageReader
from eosfw.state.group.support import group_support
from eosfw.state.storage.combined_offsets import StaleOffset, stale_offsets
from eosfw.text import quantity

_COMMITTED = IsolationLevel.READ_COMMITTED


class Verdict(Enum):
    """What a finding means for the next step."""

    READY = "ready"
    WAIT = "wait"
    PROBLEM = "problem"
    UNKNOWN = "not checked"


@dataclass(frozen=True, slots=True)
class UpgradeFinding:
    """One thing that was looked at."""

    subject: str
    verdict: Verdict
    text: str


def support_findings(modes: Mapping[str, str], wanted: str) -> list[UpgradeFinding]:
    """What the modes of the live workers say of restarting one of them with the mode that is wanted."""
    if not modes:
        return [UpgradeFinding("workers", Verdict.READY, "no worker of the group is alive")]
    if problem := group_support(modes).problem:
        return [UpgradeFinding("workers", Verdict.PROBLEM, problem)]
    beside = group_support({**modes, "the worker of this file": wanted}).problem
    if beside is not None:
        listed = ", ".join(f"{name} ({mode})" for name, mode in sorted(modes.items()))
        first = f"the live workers are {listed}; restart all of them with preparing first"
        return [UpgradeFinding("workers", Verdict.PROBLEM, f"{SUPPORT}={wanted} must wait: {first}")]
    left = sorted(name for name, mode in modes.items() if mode != wanted)
    if left:
        text = f"{SUPPORT}={wanted} is safe; workers that do not have it yet: {', '.join(left)}"
        return [UpgradeFinding("workers", Verdict.WAIT, text)]
    return [UpgradeFinding("workers", Verdict.READY, f"every live worker has {SUPPORT}={wanted}")]


class UpgradeCheck:
    """Looks at a group through its topics and its coordinator; changes nothing."""

    def __init__(self, worker: Config, backend: Backend, plugins: Plugins, runtime: Runtime) -> None:
        self._worker, self._backend, self._plugins, self._runtime = worker, backend, plugins, runtime

    def findings(self) -> list[UpgradeFinding]:
        """Everything that was found; ClusterUnavailableError if the cluster does not answer."""
        with closing(self._backend.admin()) as admin:
            found = list(self._of_workers(admin))
            topics = admin.partitions([self._worker["config.storage.topic"]])
        return found + (list(self._of_connectors()) if topics else [])

    def _of_workers(self, admin: Admin) -> Iterator[UpgradeFinding]:
        topic = members_topic_name(self._worker)
        if not admin.partitions([topic]):
            yield UpgradeFinding("workers", Verdict.READY, "no worker was ever in the group")
            return
        members = MembersTopic(self._backend, LogSource(topic=topic, isolation=_COMMITTED), self._runtime)
        with closing(members):
            members.read_to_end()
            modes = {name: record.support for name, record in members.workers().items()}
        alive = live_workers(admin.describe_group(self._worker["group.id"]))
        yield from support_findings({name: modes[name] for name in alive & modes.keys()}, self._worker[SUPPORT])
        for name in sorted(alive - modes.keys()):
            yield UpgradeFinding(f"worker {name}", Verdict.UNKNOWN, "it has not said its mode yet: check again")

    def _of_connectors(self) -> Iterator[UpgradeFinding]:
        configs = ConfigTopic(self._backend, self._worker["config.storage.topic"], _COMMITTED, self._runtime)
        with closing(configs):
            configs.read_to_end()
            known = {name: entry.properties or {} for name, entry in configs.connectors().items()}
        for name, properties in sorted(known.items()):
            connector = framework_config({"name": name, **properties})
            if connector[OFFSETS_TOPIC] is not None or clients.other_servers(connector):
                yield self._of_connector(name, connector)

    def _of_connector(self, name: str, connector: Config) -> UpgradeFinding:
        subject, topic = f"connector {name}", offset_topics(self._worker, connector).topic.name
        try:
            stale = self._stale(name, connector)
        except EosfwError as why:
            return UpgradeFinding(subject, Verdict.UNKNOWN, f"its offsets topic {topic} could not be read: {why}")
        if not stale:
            return UpgradeFinding(subject, Verdict.READY, f"its offsets topic {topic} is as new as the group's")
        first = stale[0]
        text = (
            f"its offsets topic {topic} holds {quantity(len(stale), 'offset')} older than those in the group's topic "
            f"(of {dict(first.partition)}: {dict(first.own)}, there {dict(first.worker)}), and would win: records "
            f"would be sent again. Stop the connector, delete topic {topic}, then go on"
        )
        return UpgradeFinding(subject, Verdict.PROBLEM, text)

    def _stale(self, name: str, connector: Config) -> list[StaleOffset]:
        topics = offset_topics(self._worker, connector)
        if not topics.own:
            return []
        store = parts.offset_store(self._plugins, chosen(OFFSET_STORE, self._worker, connector))
        consumer = clients.offsets_consumer(self._worker, connector).properties
        admin = self._backend.admin(clients.connector_admin(self._worker, connector).properties)
        with closing(self._reader(admin, consumer)) as reader:  # maybe on another cluster
            own = list(reader.read(topics.topic.name))
        with closing(self._reader(self._backend.admin(), {})) as reader:
            groups = list(reader.read(offsets_topic(self._worker).name))
        return list(stale_offsets(partial(store.decode, name), own, groups))

    def _reader(self, admin: Admin, consumer: Mapping[str, str]) -> OffsetStorageReader:
        return OffsetStorageReader(admin, self._backend.reader(_COMMITTED, properties=consumer), OFFSETS_TOPIC)
