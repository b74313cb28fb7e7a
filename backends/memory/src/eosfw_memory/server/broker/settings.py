"""Define the properties of a broker, by Kafka's names with Kafka's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from eosfw.config import Boolean, Choice, ConfigDef, Int, String
from eosfw.errors import ConfigError, Problem
from eosfw_memory.server.coordinators.groups.group_metadata_manager import GroupSettings
from eosfw_memory.server.coordinators.groups.migration_policy import MigrationPolicy
from eosfw_memory.server.coordinators.transaction_coordinator import CoordinatorConfig
from eosfw_memory.server.quotas.rate import Windows
from eosfw_memory.server.security.acl.authorizer_config import AUTHORIZER, parse_authorizer
from eosfw_memory.server.security.acl.standard_authorizer import StandardAuthorizer
from eosfw_memory.server.security.listeners import PREFIX, SECURITY, AuthenticationLimits, Listener, parse_listeners
from eosfw_memory.storage.log.log_memory import MEMORY_BYTES
from eosfw_memory.storage.topics.defaults import TOPIC_DEFAULTS, topic_defaults

BROKER = SECURITY + AUTHORIZER + ConfigDef(
    String("log.dirs", default=None, doc="one directory for all data; default: memory, of which nothing stays"),
    Int("eosfw.log.memory.bytes", default=MEMORY_BYTES, at_least=0,
        doc="bytes of records in memory without `log.dirs`; further ones go to temporary files without a name"),
    Choice("log.flush.interval.messages", default=str(2**63 - 1), among=("1", str(2**63 - 1)),
        doc="1 answers when data are on the disk, the default when the operating system has them"),
    Int("num.partitions", default=1, at_least=1, doc="partitions of a topic created without saying how many"),
    Boolean("auto.create.topics.enable", default=True, doc="create a topic that a client asks about"),
    Int("transaction.max.timeout.ms", default=900_000, at_least=1, doc="longest transaction.timeout.ms"),
    Choice("transaction.version", default="2", among=("1", "2"),
        doc="2 raises a producer's epoch with every transaction (KIP-890, Kafka's default), 1 does not"),
    Boolean("transaction.partition.verification.enable", default=True,
        doc="whether a batch of version 1 of transactions is refused that is in no open transaction (KIP-890)"),
    Int("transactional.id.expiration.ms", default=604_800_000, at_least=1,
        doc="a transactional id that was not used for so long is forgotten"),
    Int("transaction.remove.expired.transaction.cleanup.interval.ms", default=3_600_000, at_least=1,
        doc="how often transactional ids to be forgotten are looked for"),
    Int("transaction.abort.timed.out.transaction.cleanup.interval.ms", default=10_000, at_least=1,
        doc="how often transactions open beyond their timeout are looked for"),
    Int("transaction.state.log.num.partitions", default=50, at_least=1, doc="partitions of the transaction log"),
    Int("offsets.topic.num.partitions", default=50, at_least=1, doc="partitions of the log of consumer groups"),
    Int("offsets.retention.minutes", default=10_080, at_least=1, doc="how long unused offsets of a group are kept"),
    Int("offset.metadata.max.bytes", default=4096, at_least=0, doc="longest text that comes with an offset"),
    Int("group.min.session.timeout.ms", default=6_000, at_least=1, doc="shortest session.timeout.ms of a member"),
    Int("group.max.session.timeout.ms", default=1_800_000, at_least=1, doc="longest session.timeout.ms of a member"),
    Int("group.max.size", default=2**31 - 1, at_least=1, doc="most members of a classic group"),
    Int("group.consumer.session.timeout.ms", default=45_000, at_least=1,
        doc="a member of a consumer group (KIP-848) that is silent for so long is removed"),
    Int("group.consumer.heartbeat.interval.ms", default=5_000, at_least=1,
        doc="how often members of a consumer group (KIP-848) shall send heartbeats"),
    Int("group.consumer.min.session.timeout.ms", default=45_000, at_least=1,
        doc="shortest `consumer.session.timeout.ms` of a single group"),
    Int("group.consumer.max.session.timeout.ms", default=60_000, at_least=1,
        doc="longest `consumer.session.timeout.ms` of a single group"),
    Int("group.consumer.min.heartbeat.interval.ms", default=5_000, at_least=1,
        doc="shortest `consumer.heartbeat.interval.ms` of a single group"),
    Int("group.consumer.max.heartbeat.interval.ms", default=15_000, at_least=1,
        doc="longest `consumer.heartbeat.interval.ms` of a single group"),
    Int("group.consumer.max.size", default=2**31 - 1, at_least=1, doc="most members of a consumer group (KIP-848)"),
    Choice("group.consumer.migration.policy", default="bidirectional", among=tuple(MigrationPolicy),
        doc="whether a group with members goes from one protocol to the other (KIP-848)"),
    Int("group.initial.rebalance.delay.ms", default=0, at_least=0,
        doc="how long a new group waits for more members; Kafka's default, 3000, would only slow tests down"),
    Int("producer.id.expiration.ms", default=86_400_000, at_least=1,
        doc="a partition forgets a producer that wrote nothing for so long"),
    Int("producer.id.expiration.check.interval.ms", default=600_000, at_least=1, doc="how often such are looked for"),
    Int("log.retention.check.interval.ms", default=300_000, at_least=1, doc="how often old segments are looked for"),
    Int("log.cleaner.backoff.ms", default=15_000, at_least=1, doc="how often topics to be compacted are looked for"),
    Int("socket.request.max.bytes", default=104_857_600, at_least=1, doc="largest request"),
    Int("connections.max.idle.ms", default=600_000, at_least=1,
        doc="a connection on which nothing comes or goes for so long is closed"),
    Int("max.connections", default=2**31 - 1, at_least=1, doc="most connections at once; more are closed at once"),
    Int("quota.window.num", default=11, at_least=1, doc="windows over which the use of a client is measured"),
    Int("quota.window.size.seconds", default=1, at_least=1, doc="how long one of them is"),
    Int("max.connections.per.ip", default=2**31 - 1, at_least=1,
        doc="most connections of one address at once; more are closed at once"),
    Int("max.incremental.fetch.session.cache.slots", default=1000, at_least=0,
        doc="most clients that read in incremental fetches; further ones name all partitions in each (KIP-227)"),
    String("eosfw.faults", default=None, doc="a TOML file that says what shall go wrong, for tests"),
    String("eosfw.power.cuts", default=None,
        doc="for tests: nothing waits for the disk; what faults of the disk leave, such as `power-cut`, is drawn from "
        "this text"),
    Boolean("eosfw.record.coordinators", default=False,
        doc="for tests: what coordinators are asked and answer stays in memory"),
) + TOPIC_DEFAULTS  # fmt: skip
"""Everything `start` of the embedded cluster accepts."""
ALIASES: Final[Mapping[str, str]] = {"max.transaction.timeout.ms": "transaction.max.timeout.ms"}
"""Names that mean another one: KIP-98 has a property that Kafka released under another name."""
_FOR_TESTS: Final = frozenset({"eosfw.faults", "eosfw.power.cuts", "eosfw.record.coordinators"})
_NOT_DESCRIBED: Final = frozenset({"transaction.version"} | _FOR_TESTS | SECURITY.keys.keys())


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A broker's properties, typed."""

    listeners: tuple[Listener, ...]
    """None of them for a broker without a port; the first is that of clients in this process."""
    authentication: AuthenticationLimits
    directory: Path | None
    """Where data are kept; None for memory."""
    memory_bytes: int
    """How many bytes of records are kept in memory if there is no directory."""
    waits_for_disk: bool
    producer_expiration_ms: int
    producer_check_ms: int
    retention_check_ms: int
    cleaner_backoff_ms: int
    num_partitions: int
    auto_create_topics: bool
    transactions: CoordinatorConfig
    verifies_transactions: bool
    """Whether a batch of version 1 of transactions must be in an open transaction."""
    abort_timed_out_interval_ms: int
    expire_ids_interval_ms: int
    transaction_log_partitions: int
    offsets_topic_partitions: int
    groups: GroupSettings
    request_max_bytes: int
    max_idle_ms: int
    max_connections: int
    max_connections_per_ip: int
    quota_windows: Windows
    """Over which time the use of a client is measured."""
    fetch_sessions: int
    """How many clients may read in incremental fetches."""
    faults: Path | None
    power_cuts: str | None
    """From which text is drawn what a power cut leaves on the disk; None for a real disk."""
    records_coordinators: bool
    """Whether it is kept what coordinators are asked and answer."""
    topic_defaults: Mapping[str, str]
    """The broker's defaults for properties of topics, where they differ from Kafka's."""
    given: Mapping[str, str] = field(repr=False)
    """The properties as they were given, by Kafka's names."""

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> Self:
        """Read Kafka's names; raise ConfigError with every problem."""
        given = _without_aliases(properties)
        config = BROKER.parse(_without_own(given), "embedded broker")
        parse_authorizer(given)
        return cls(
            listeners=parse_listeners(given),
            authentication=_authentication(config),
            directory=None if config["log.dirs"] is None else Path(config["log.dirs"]).absolute(),
            memory_bytes=config["eosfw.log.memory.bytes"],
            waits_for_disk=config["log.flush.interval.messages"] == "1",
            producer_expiration_ms=config["producer.id.expiration.ms"],
            producer_check_ms=config["producer.id.expiration.check.interval.ms"],
            retention_check_ms=config["log.retention.check.interval.ms"],
            cleaner_backoff_ms=config["log.cleaner.backoff.ms"],
            num_partitions=config["num.partitions"],
            auto_create_topics=config["auto.create.topics.enable"],
            transactions=_transactions(config),
            verifies_transactions=config["transaction.partition.verification.enable"],
            abort_timed_out_interval_ms=config["transaction.abort.timed.out.transaction.cleanup.interval.ms"],
            expire_ids_interval_ms=config["transaction.remove.expired.transaction.cleanup.interval.ms"],
            transaction_log_partitions=config["transaction.state.log.num.partitions"],
            offsets_topic_partitions=config["offsets.topic.num.partitions"],
            groups=_groups(config),
            request_max_bytes=config["socket.request.max.bytes"],
            max_idle_ms=config["connections.max.idle.ms"],
            max_connections=config["max.connections"],
            max_connections_per_ip=config["max.connections.per.ip"],
            quota_windows=Windows(config["quota.window.num"], config["quota.window.size.seconds"] * 1000),
            fetch_sessions=config["max.incremental.fetch.session.cache.slots"],
            faults=None if config["eosfw.faults"] is None else Path(config["eosfw.faults"]),
            power_cuts=config["eosfw.power.cuts"],
            records_coordinators=config["eosfw.record.coordinators"],
            topic_defaults=topic_defaults(given),
            given=given,
        )

    def authorizer(self) -> StandardAuthorizer | None:
        """A new authorizer, if `authorizer.class.name` names one."""
        return parse_authorizer(self.given)

    def described(self) -> dict[str, str | None]:
        """The properties in force, by Kafka's names, as DescribeConfigs shows them."""
        config = BROKER.parse(_without_own(self.given))
        return {name: _text(config[name]) for name in BROKER.keys if name not in _NOT_DESCRIBED}


def _authentication(config: Mapping[str, Any]) -> AuthenticationLimits:
    return AuthenticationLimits(
        max_bytes=config["sasl.server.max.receive.size"],
        timeout=config["eosfw.authentication.timeout.ms"] / 1000,
        failure_delay=config["connection.failed.authentication.delay.ms"] / 1000,
    )


def _transactions(config: Mapping[str, Any]) -> CoordinatorConfig:
    return CoordinatorConfig(
        max_timeout_ms=config["transaction.max.timeout.ms"],
        id_expiration_ms=config["transactional.id.expiration.ms"],
        version=int(config["transaction.version"]),
    )


def _groups(config: Mapping[str, Any]) -> GroupSettings:
    return GroupSettings(
        min_session_timeout_ms=config["group.min.session.timeout.ms"],
        max_session_timeout_ms=config["group.max.session.timeout.ms"],
        initial_rebalance_delay_ms=config["group.initial.rebalance.delay.ms"],
        max_size=config["group.max.size"],
        offsets_retention_ms=config["offsets.retention.minutes"] * 60_000,
        offset_metadata_max_bytes=config["offset.metadata.max.bytes"],
        consumer_session_timeout_ms=config["group.consumer.session.timeout.ms"],
        consumer_min_session_timeout_ms=config["group.consumer.min.session.timeout.ms"],
        consumer_max_session_timeout_ms=config["group.consumer.max.session.timeout.ms"],
        consumer_heartbeat_interval_ms=config["group.consumer.heartbeat.interval.ms"],
        consumer_min_heartbeat_interval_ms=config["group.consumer.min.heartbeat.interval.ms"],
        consumer_max_heartbeat_interval_ms=config["group.consumer.max.heartbeat.interval.ms"],
        consumer_max_size=config["group.consumer.max.size"],
        consumer_migration_policy=MigrationPolicy(config["group.consumer.migration.policy"]),
    )


def _without_own(given: Mapping[str, str]) -> dict[str, str]:
    """The properties without those of single listeners."""
    return {name: text for name, text in given.items() if not name.startswith(PREFIX)}


def _without_aliases(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties under the names they are known by; ConfigError where two names contradict each other."""
    found = {name: text for name, text in properties.items() if name not in ALIASES}
    for alias, name in ALIASES.items():
        if alias not in properties:
            continue
        if found.setdefault(name, properties[alias]).strip() != properties[alias].strip():
            problem = f"{alias}={properties[alias]} contradicts {name}={properties[name]}, which means the same"
            raise ConfigError(Problem("embedded broker", f"{problem}: leave one out"))
    return found


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
