"""The properties of a worker in a group of several (Kafka Connect's `DistributedConfig`, `RestServerConfig`).

`eosfw run`, a group of one, takes them as well, so that one file serves both; it uses none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from eosfw.config.definition.config_def import Boolean, Choice, Int, Key, List, String
from eosfw.config.definition.kinds import ReplicationFactor, TopicName

__all__ = ["ADMIN_LISTENERS", "DISTRIBUTED", "NOT_SESSIONED", "SIGNATURE_ALGORITHMS", "distributed_problems"]

SIGNATURE_ALGORITHMS: Final = ("HmacSHA256", "HmacSHA384", "HmacSHA512")
"""Java's names of the algorithms that a session key may have, and requests may be signed with."""
NOT_SESSIONED: Final = ("eager", "compatible")
"""The values of `connect.protocol` without session keys: requests between workers are not checked (KIP-507)."""
ADMIN_LISTENERS: Final = "admin.listeners"
_FEWEST_BITS, _MOST_BITS = 128, 4096


@dataclass(frozen=True, slots=True)
class _Algorithms(List):
    """One or more algorithms that signatures are verified with."""

    def parse(self, text: str) -> tuple[str, ...]:
        names = List.parse(self, text)
        if not names:
            raise ValueError("at least one signature verification algorithm must be provided")
        return tuple(Choice(self.name, among=SIGNATURE_ALGORITHMS).parse(name) for name in names)


_MEMBERSHIP = (
    String(
        "client.id",
        "",
        "a part of the client ids of this worker's own producer and consumer, for quotas and the brokers' logs",
        may_be_empty=True,
    ),
    Int("session.timeout.ms", 10_000, "how long a worker may be silent before its group takes it for dead", at_least=1),
    Int(
        "heartbeat.interval.ms",
        3_000,
        "how often a worker tells its group that it lives; below session.timeout.ms, best a third of it",
        at_least=1,
    ),
    Int(
        "rebalance.timeout.ms",
        60_000,
        "how long workers get to stop what they must give up, before a rebalance goes on without them",
        at_least=1,
    ),
    Int(
        "scheduled.rebalance.max.delay.ms",
        300_000,
        "how long the tasks of a worker that is gone wait for its return before others get them",
        at_least=0,
    ),
    Choice(
        "connect.protocol",
        "sessioned",
        "how tasks move in a rebalance: eager stops all, compatible and sessioned stop those that move; "
        "with sessioned, requests between workers are signed",
        among=(*NOT_SESSIONED, "sessioned"),
    ),
    Int(
        "worker.sync.timeout.ms",
        3_000,
        "how long a worker that lags behind the config topic tries to catch up before it leaves the group",
        at_least=0,
    ),
    Int(
        "worker.unsync.backoff.ms",
        300_000,
        "accepted for Kafka Connect's files, and without effect: a worker that lags behind runs nothing, and need not "
        "leave its group",
        at_least=0,
    ),
)
_STATUS = (
    TopicName("status.storage.topic", None, "topic of the states of connectors and tasks; default GROUP-status"),
    Int("status.storage.partitions", 5, "partitions of the status topic", at_least=1, at_most=10_000),
    ReplicationFactor(
        "status.storage.replication.factor", -1, "replicas of the status topic; -1: the cluster's default"
    ),
    Boolean("topic.tracking.enable", True, "note the topics that each connector writes to"),
    Boolean("topic.tracking.allow.reset", True, "let users reset the topics that were noted for a connector"),
)
_REST = (
    List(
        "listeners",
        ("http://127.0.0.1:8083",),
        "where the REST interface listens: http://HOST:PORT or https://HOST:PORT, comma-separated",
    ),
    List(
        ADMIN_LISTENERS,
        None,
        "where the calls under /admin are served instead, written like listeners; empty: nowhere; default: where the "
        "others are",
    ),
    String("rest.advertised.host.name", None, "host under which other workers reach this one; default: the listener's"),
    Int(
        "rest.advertised.port",
        None,
        "port under which other workers reach this one; default: the listener's",
        at_least=1,
        at_most=65_535,
    ),
    Choice(
        "rest.advertised.listener",
        None,
        "protocol under which other workers reach this one; default: the first listener's",
        among=("http", "https"),
    ),
    List(
        "access.control.allow.origin",
        (),
        "origins whose pages may send requests to the REST interface, such as https://console.example.org, "
        "comma-separated; `*` stands for all, and within a host for its subdomains; default: none",
    ),
    List(
        "access.control.allow.methods",
        (),
        "methods of such requests, comma-separated; default: GET, POST and HEAD",
    ),
    String(
        "response.http.headers.config",
        "",
        "headers of every answer of the REST interface: rules `set`, `add`, `setDate` or `addDate`, a blank, "
        "`NAME:VALUE`, comma-separated, in double quotes if one has a comma; dates are milliseconds from now on",
        may_be_empty=True,
    ),
)
_SESSION_KEYS = (
    Choice(
        "inter.worker.key.generation.algorithm",
        "HmacSHA256",
        "the algorithm of the key that requests between workers are signed with",
        among=SIGNATURE_ALGORITHMS,
    ),
    Int(
        "inter.worker.key.size",
        None,
        "bits of that key; default: those of its algorithm",
        at_least=_FEWEST_BITS,
        at_most=_MOST_BITS,
    ),
    Int("inter.worker.key.ttl.ms", 3_600_000, "how long the leader uses a key; 0: for ever", at_least=0),
    Choice(
        "inter.worker.signature.algorithm",
        "HmacSHA256",
        "the algorithm that this worker signs requests with",
        among=SIGNATURE_ALGORITHMS,
    ),
    _Algorithms(
        "inter.worker.verification.algorithms",
        ("HmacSHA256",),
        "the algorithms that this worker accepts in requests; must include inter.worker.signature.algorithm",
    ),
)
DISTRIBUTED: Final[tuple[Key, ...]] = (*_MEMBERSHIP, *_STATUS, *_REST, *_SESSION_KEYS)
"""The definitions, for a worker's `ConfigDef`."""


def distributed_problems(values: Mapping[str, Any]) -> list[str]:
    """What is wrong with properties that were parsed one by one, but do not fit together."""
    return [
        *_heartbeat_problem(values),
        *_algorithm_problem(values),
        *_listener_problems("listeners", values.get("listeners")),
        *_listener_problems(ADMIN_LISTENERS, values.get(ADMIN_LISTENERS)),
    ]


def _heartbeat_problem(values: Mapping[str, Any]) -> list[str]:
    heartbeat, session = values.get("heartbeat.interval.ms"), values.get("session.timeout.ms")
    if heartbeat is None or session is None or heartbeat < session:
        return []
    return [f"heartbeat.interval.ms={heartbeat} must be below session.timeout.ms={session}; best a third of it"]


def _algorithm_problem(values: Mapping[str, Any]) -> list[str]:
    signs, accepts = (values.get(f"inter.worker.{name}") for name in ("signature.algorithm", "verification.algorithms"))
    if signs is None or accepts is None or signs in accepts:
        return []
    return [f"inter.worker.signature.algorithm={signs} must be among inter.worker.verification.algorithms"]


def _listener_problems(name: str, listeners: tuple[str, ...] | None) -> list[str]:
    if name == "listeners" and listeners == ():
        return ["listeners: at least one URL is expected, such as http://127.0.0.1:8083"]
    return [
        f"{name}: {listener!r} must be http://HOST:PORT or https://HOST:PORT"
        for listener in listeners or ()
        if not listener.lower().startswith(("http://", "https://"))
    ]
