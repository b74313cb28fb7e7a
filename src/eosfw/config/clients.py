"""The client properties of a worker group: defaults, then worker, connector, enforced ones (CFG-07, CFG-08)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from eosfw.config.connector import BOUNDARY, INTERVAL, OFFSETS_TOPIC, OVERRIDE_PREFIXES, SERVERS
from eosfw.config.definition.config_def import Config, Int
from eosfw.config.definition.layered import originals_with_prefix
from eosfw.config.distributed import ADMIN_LISTENERS
from eosfw.config.override_policy import override_refusals
from eosfw.config.translation import Client
from eosfw.config.worker import SUPPORT
from eosfw.errors import ConfigError, Problem
from eosfw.state.storage.offset_topics import disagreeing_servers, server_set
from eosfw.text import readable

TIMEOUT = "transaction.timeout.ms"
ISOLATION = "isolation.level"
_DEFAULT_TIMEOUT_MS = 60_000
_IN_FLIGHT = "max.in.flight.requests.per.connection"
_MOST_IN_FLIGHT = 5
"""The most requests in flight for which an idempotent producer keeps the order (KIP-98)."""
_TIMEOUT_KEY = Int(TIMEOUT, at_least=1)
_SETTLED = {
    Client.PRODUCER: ("acks", "enable.idempotence", "transactional.id", TIMEOUT),
    Client.CONSUMER: (ISOLATION,),
    Client.ADMIN: (),
}
ClientProblems = Callable[[Mapping[str, str], Client], Sequence[Problem]]
"""`Backend.problems`: what is wrong with properties for one kind of client, by the name of each property."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Properties for one client, and warnings about those that were replaced.

    Properties that the framework passes by other means, such as `transactional.id`, are left out.
    """

    properties: Mapping[str, str] = field(repr=False)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProducerSettings(ClientSettings):
    """The properties for a producer, with its transaction timeout in seconds."""

    transaction_timeout: float = _DEFAULT_TIMEOUT_MS / 1000


def exactly_once(worker: Config) -> bool:
    """Whether tasks of this worker group write exactly once (CFG-01)."""
    return bool(worker[SUPPORT] == "enabled")


def commit_interval_ms(worker: Config, connector: Config) -> int:
    """The interval at which tasks of this connector commit (CFG-06); 0 if a transaction ends with a poll."""
    if connector[BOUNDARY] != "interval":
        return 0
    own = connector[INTERVAL]
    return int(worker["offset.flush.interval.ms"] if own is None else own)


def task_producer(
    worker: Config, connector: Config, transactional_id: str, broker_max: float | None = None
) -> ProducerSettings:
    """The properties of a task's producer; `broker_max` is the broker's longest transaction, in seconds."""
    given = {
        **originals_with_prefix(worker.given, "producer."),
        **_overrides(worker, connector, "producer.override."),
    }
    if not exactly_once(worker):
        # CFG-08: without idempotence only one request in flight keeps the order over retries.
        base = {"acks": "all", _IN_FLIGHT: "1", "enable.idempotence": "false"}
        return ProducerSettings({**base, **given})
    timeout_ms = int(given.pop(TIMEOUT, 0)) or _fitting_timeout(worker, connector, broker_max)
    enforced = {"enable.idempotence": "true", "transactional.id": transactional_id}
    properties, warnings = _enforce(given, enforced, f"connector {connector['name']}: producer")
    # Passed to the backend by other means, or implied by a transactional producer.
    for name in (*enforced, "acks"):
        properties.pop(name, None)
    # A record that is sent again after its transaction was aborted would only delay the error.
    properties.setdefault("delivery.timeout.ms", str(timeout_ms))
    return ProducerSettings(properties, warnings, timeout_ms / 1000)


def leader_producer(worker: Config, transactional_id: str) -> ProducerSettings:
    """The properties of the leader's producer, which writes the config topic (LDR-01)."""
    given = originals_with_prefix(worker.given, "producer.")
    timeout_ms = int(given.pop(TIMEOUT, _DEFAULT_TIMEOUT_MS))
    enforced = {"enable.idempotence": "true", "transactional.id": transactional_id}
    if not exactly_once(worker):  # else other values are refused, and a warning before would say the contrary
        enforced["acks"] = "all"
    properties, warnings = _enforce({**_own_client_id(worker), **given}, enforced, "worker: leader's producer")
    for name in (*enforced, "acks"):
        properties.pop(name, None)
    properties.setdefault("delivery.timeout.ms", str(timeout_ms))
    return ProducerSettings(properties, warnings, timeout_ms / 1000)


def plain_producer(worker: Config) -> ProducerSettings:
    """The properties of a worker's producer that needs no transactions: of states, and of copies of offsets."""
    given = originals_with_prefix(worker.given, "producer.")
    for name in ("transactional.id", TIMEOUT):
        given.pop(name, None)
    return ProducerSettings({**given, "acks": "all", _IN_FLIGHT: "1", "enable.idempotence": "false"})


def offsets_consumer(worker: Config, connector: Config) -> ClientSettings:
    """The properties of the consumer that reads a connector's source offsets (CFG-07)."""
    return _consumer(worker, _consumer_given(worker, connector), f"connector {connector['name']}: offsets consumer")


def worker_offsets_consumer(worker: Config) -> ClientSettings:
    """The properties of the consumer that reads the worker's offsets topic beside a connector's own."""
    return ClientSettings(_consumer(worker, originals_with_prefix(worker.given, "consumer."), "").properties)


def offsets_isolation(worker: Config, connector: Config | None) -> str:
    """The isolation level at which source offsets are read; None for a connector stands for the worker's topic."""
    if exactly_once(worker):
        return "read_committed"
    given = (
        originals_with_prefix(worker.given, "consumer.") if connector is None else _consumer_given(worker, connector)
    )
    own = connector is not None and (connector[OFFSETS_TOPIC] is not None or bool(other_servers(connector)))
    return given.get(ISOLATION, "read_committed" if own else "read_uncommitted")


def other_servers(connector: Config) -> frozenset[str]:
    """The addresses of the cluster that a connector writes to, if it names one."""
    return server_set(connector.given.get(f"producer.override.{SERVERS}"))


def _consumer_given(worker: Config, connector: Config) -> dict[str, str]:
    return {
        **originals_with_prefix(worker.given, "consumer."),
        **_overrides(worker, connector, "consumer.override."),
    }


def config_consumer(worker: Config) -> ClientSettings:
    """The properties of the consumer that reads the config topic (LDR-05)."""
    given = {**_own_client_id(worker), **originals_with_prefix(worker.given, "consumer.")}
    return _consumer(worker, given, "worker: config topic's consumer")


def connector_admin(worker: Config, connector: Config) -> ClientSettings:
    """The properties of a connector's admin client, which also fences its zombies (FEN-06)."""
    return ClientSettings({**_worker_admin(worker.given), **_overrides(worker, connector, "admin.override.")})


def _worker_admin(given: Mapping[str, str]) -> dict[str, str]:
    # `admin.listeners` only begins like the properties of admin clients.
    return originals_with_prefix({name: text for name, text in given.items() if name != ADMIN_LISTENERS}, "admin.")


def override_problems(worker: Config, connector: Config | None = None) -> list[Problem]:
    """Client properties that would break exactly-once, or that contradict each other."""
    problems = _producer_problems(
        originals_with_prefix(worker.given, "producer."), "producer.", on=exactly_once(worker)
    )
    if connector is None:
        return problems + _isolation_problems(worker, worker, "consumer.")
    own = originals_with_prefix(connector.given, "producer.override.")
    problems = _producer_problems(own, "producer.override.", on=exactly_once(worker))
    return (
        problems
        + _interval_problems(worker, connector)
        + _isolation_problems(worker, connector, "consumer.override.")
        + _cluster_problems(connector)
    )


def client_problems(find_problems: ClientProblems, worker: Config, connector: Config | None = None) -> list[Problem]:
    """Properties of a connector, or else of the worker, that the backend's clients would refuse, by full names.

    Properties that the framework sets itself never reach a client, so they are not checked.
    """
    given, suffix = (worker.given, "") if connector is None else (connector.given, "override.")
    problems: list[Problem] = []
    for client, settled in _SETTLED.items():
        prefix = f"{str(client.name).lower()}.{suffix}"
        own = _worker_admin(given) if prefix == "admin." else originals_with_prefix(given, prefix)
        if exactly_once(worker):
            own = {name: text for name, text in own.items() if name not in settled}
        problems += [Problem("", f"{prefix}{one.where}: {one.what}") for one in find_problems(own, client)]
    return problems


def _overrides(worker: Config, connector: Config, prefix: str) -> dict[str, str]:
    # Asked again where a client is made: the config topic may hold what another worker, or another policy, let in.
    refused = override_refusals(worker, connector.given)
    if refused := {name: why for name, why in refused.items() if name.startswith(prefix)}:
        raise ConfigError(*policy_problems(refused))
    return originals_with_prefix(connector.given, prefix)


def policy_problems(refused: Mapping[str, str]) -> list[Problem]:
    """The problems of overrides that the worker's policy refuses."""
    return [Problem("", f"{name}: {why}") for name, why in refused.items()]


def _own_client_id(worker: Config) -> dict[str, str]:
    # As in Kafka Connect's `ConnectUtils.clientIdBase`; without the property clients keep their libraries' names.
    own = worker["client.id"].strip()
    return {"client.id": f"{worker['group.id']}-{own}-configs"} if own else {}


def _consumer(worker: Config, given: dict[str, str], client: str) -> ClientSettings:
    if not exactly_once(worker):
        return ClientSettings(given)
    properties, warnings = _enforce(given, {ISOLATION: "read_committed"}, client)
    properties.pop(ISOLATION)
    return ClientSettings(properties, warnings)


def _enforce(
    given: Mapping[str, str], enforced: Mapping[str, str], client: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    warnings = tuple(
        f"{client}: {name}={readable(given[name])} is replaced by {value}: exactly-once needs it"
        for name, value in enforced.items()
        if name in given and given[name] != value  # case-sensitive, as Kafka compares
    )
    return {**given, **enforced}, warnings


def _fitting_timeout(worker: Config, connector: Config, broker_max: float | None) -> int:
    wanted = max(_DEFAULT_TIMEOUT_MS, 2 * commit_interval_ms(worker, connector))
    return wanted if broker_max is None else min(wanted, int(broker_max * 1000))


def _producer_problems(given: Mapping[str, str], prefix: str, *, on: bool) -> list[Problem]:
    problems: list[Problem] = []
    if TIMEOUT in given:
        try:
            _TIMEOUT_KEY.parse(given[TIMEOUT])
        except ValueError as why:
            shown = f"Invalid value {readable(given[TIMEOUT])} for configuration {prefix}{TIMEOUT}: {why}"
            problems.append(Problem("", f"{shown}; milliseconds between 1 and 2147483647"))
    if not on:
        return problems
    if given.get("acks", "all") not in ("all", "-1"):
        problems.append(Problem("", f"{prefix}acks={readable(given['acks'])}: exactly-once needs acks=all; remove it"))
    if given.get("retries", "1").strip() == "0":
        problems.append(Problem("", f"{prefix}retries=0: exactly-once repeats what was not answered; remove it"))
    in_flight = given.get(_IN_FLIGHT, "1")
    if not in_flight.isdecimal() or not 1 <= int(in_flight) <= _MOST_IN_FLIGHT:
        what = (
            f"{prefix}{_IN_FLIGHT}={readable(in_flight)}: exactly-once needs a number between 1 and {_MOST_IN_FLIGHT}"
        )
        problems.append(Problem("", what))
    return problems


def _interval_problems(worker: Config, connector: Config) -> list[Problem]:
    layers = (("producer.override.", connector.given), ("producer.", worker.given))
    key, text = next(((f"{p}{TIMEOUT}", given[p + TIMEOUT]) for p, given in layers if p + TIMEOUT in given), ("", ""))
    interval = commit_interval_ms(worker, connector)
    if not exactly_once(worker) or not text.isdecimal() or not interval or int(text) > interval:
        return []
    named = INTERVAL if connector[INTERVAL] is not None else "offset.flush.interval.ms"
    what = (
        f"{key}={text} is not above {named}={interval}: every transaction would time out; raise one or lower the other"
    )
    return [Problem("", what)]


def _isolation_problems(worker: Config, source: Config, prefix: str) -> list[Problem]:
    text = source.given.get(prefix + ISOLATION, "read_committed")
    if exactly_once(worker) or text in ("read_committed", "read_uncommitted"):
        return []
    what = f"Invalid value {text} for configuration {prefix}{ISOLATION}: must be read_committed or read_uncommitted"
    return [Problem("", what)]


def _cluster_problems(connector: Config) -> list[Problem]:
    """Overrides that take the clients of one connector to different clusters."""
    given = {f"{prefix}{SERVERS}": connector.given.get(f"{prefix}{SERVERS}") for prefix in OVERRIDE_PREFIXES}
    first = next(iter(given))
    return [
        Problem(
            "",
            f"{name} is {_shown(given[name])}, {first} is {_shown(given[first])}: records, their source offsets "
            f"and the clients that read and fence them must share a cluster; give all three the same servers, or none",
        )
        for name in disagreeing_servers(given)
    ]


def _shown(servers: str | None) -> str:
    return "not given" if servers is None else servers
