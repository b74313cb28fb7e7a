"""Measure what access rules cost the embedded broker: a broker with 1,000 rules beside one without an authorizer.

Both serve from this process and take turns, round by round, so that other load on the machine meets both. A request is
read, served and its answer written without a socket; transactions come from a client, over a socket. A ratio is the
processor time of this process with rules over that without (the median of the rounds' ratios); `by_the_clock` is the
same of the time that passed. The client is no super user: its rights are rules among the others. `forgotten` is a
request whose decisions are not remembered, as the first of each name. Prints one JSON object.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

from benchmark import run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from eosfw_confluent.backend import ConfluentBackend
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.client.transport.messages import format_of
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.broker.broker import Context
from eosfw_memory.server.protocol.codec import decode
from eosfw_memory.server.security.acl.acl_binding import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from eosfw_memory.storage.records.codec import encode_batch

RULES = 1_000
ROUNDS = scaled(41, least=3)
VALUE = b"x" * 100
TOPIC, WAIT = "records", 60.0
CLIENT = "User:ANONYMOUS"
GOALS = {"produce_of_1000": 1.03, "transaction_of_1000_confluent": 1.03}
LENGTH_BYTES = 4
WITH_RULES = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}


def rules() -> list[AclBinding]:
    """What the client needs, among rules of others about names and prefixes like its own."""
    allow, deny = AclPermissionType.ALLOW, AclPermissionType.DENY
    own = [
        (ResourceType.TOPIC, "r", PatternType.PREFIXED, AclOperation.ALL),
        (ResourceType.TRANSACTIONAL_ID, "*", PatternType.LITERAL, AclOperation.ALL),
        (ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL, AclOperation.ALL),
    ]
    made = [AclBinding(kind, name, pattern, CLIENT, "*", what, allow) for kind, name, pattern, what in own]
    for number in range(RULES - len(made)):
        pattern = PatternType.PREFIXED if number % 2 else PatternType.LITERAL
        name = TOPIC[: 1 + number % len(TOPIC)] if number % 3 == 0 else f"{TOPIC}-{number}"
        says = deny if number % 5 == 0 else allow
        made.append(AclBinding(ResourceType.TOPIC, name, pattern, f"User:{number}", "*", AclOperation.WRITE, says))
    return made


def produce_frame(records: int) -> bytes:
    """A Produce request of one batch, as it comes from a socket."""
    batch = encode_batch(None, [VALUE] * records, int(time.time() * 1000))
    request = Fields(
        transactional_id=None,
        acks=-1,
        timeout=milliseconds(1.0),
        topic_data=[Fields(name=TOPIC, partition_data=[Fields(index=0, records=batch)])],
    )
    return format_of(0, 11).frame(1, "me", request)[LENGTH_BYTES:]


class Bench:
    """One broker with its clients."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        runtime = ThreadRuntime()
        self.cluster = EmbeddedCluster.start(properties, runtime)
        if self.cluster.broker.acls is not None:
            self.cluster.broker.acls.create(rules())
        given = {"bootstrap.servers": self.cluster.bootstrap_servers}
        self.clients = {
            "confluent": ConfluentBackend.connect(given, runtime),
            "memory": MemoryBackend.connect({**given, "eosfw.transport": "socket"}, runtime),
        }
        self.clients["memory"].admin().create_topics([NewTopic(TOPIC)])
        self.producers = {name: client.producer(f"id-{name}") for name, client in self.clients.items()}
        for producer in self.producers.values():
            producer.init_transactions(WAIT)
        self.frames = {size: produce_frame(size) for size in (1, 1_000)}

    def produce(self, size: int, requests: int, *, forget: bool = False) -> None:
        broker, frame = self.cluster.broker, self.frames[size]
        for _ in range(requests):
            if forget and broker.authorizer is not None:
                broker.authorizer._decisions.clear()  # noqa: SLF001
            request = decode(frame)
            context = Context(request.codec.version, request.client_id, "/127.0.0.1")
            answer = broker.serve(request.codec.handler, request.body, context)
            request.codec.encode(request.correlation_id, answer)  # type: ignore[arg-type]
        broker.topics.by_name(TOPIC).partitions[0].log.delete_before(-1)  # type: ignore[union-attr]

    def transact(self, client: str, size: int, transactions: int) -> None:
        producer = self.producers[client]
        records = [ProducerRecord(TOPIC, VALUE)] * size
        for _ in range(transactions):
            producer.begin_transaction()
            for record in records:
                producer.send(record)
            producer.commit_transaction(WAIT)

    def close(self) -> None:
        for each in (*self.producers.values(), *self.clients.values()):
            each.close()
        self.cluster.close()


MEASUREMENTS: Mapping[str, Callable[[Bench], None]] = {
    "produce_of_1": lambda bench: bench.produce(1, scaled(2_000)),
    "produce_of_1_forgotten": lambda bench: bench.produce(1, scaled(2_000), forget=True),
    "produce_of_1000": lambda bench: bench.produce(1_000, scaled(200)),
    "transaction_of_1_memory": lambda bench: bench.transact("memory", 1, scaled(200)),
    "transaction_of_1_confluent": lambda bench: bench.transact("confluent", 1, scaled(30)),
    "transaction_of_1000_confluent": lambda bench: bench.transact("confluent", 1_000, scaled(30)),
}


def spent(measure: Callable[[Bench], None], bench: Bench) -> tuple[float, float]:
    """The processor time of this process, and the time that passed, in seconds."""
    began = time.process_time(), time.perf_counter()
    measure(bench)
    return time.process_time() - began[0], time.perf_counter() - began[1]


def main() -> None:
    """Measure."""
    without, with_rules = Bench({}), Bench(WITH_RULES)
    found: dict[str, dict[str, object]] = {}
    for name, measure in MEASUREMENTS.items():
        rounds = []
        for number in range(ROUNDS):
            pair = {}
            for each in (without, with_rules) if number % 2 else (with_rules, without):
                pair[each] = spent(measure, each)
            rounds.append((pair[with_rules], pair[without]))
        ratios = sorted(mine[0] / other[0] for mine, other in rounds)
        found[name] = {
            "ratio": round(statistics.median(ratios), 3),
            "quartiles": [round(ratios[len(ratios) // 4], 3), round(ratios[-1 - len(ratios) // 4], 3)],
            "by_the_clock": round(statistics.median(mine[1] / other[1] for mine, other in rounds), 3),
            "milliseconds_with_rules": round(1000 * statistics.median(mine[0] for mine, _ in rounds), 1),
        }
    for each in (without, with_rules):
        each.close()
    show({"rules": RULES, "rounds": ROUNDS, "processor_time_with_rules_over_without": found, "goals": GOALS})


if __name__ == "__main__":
    run_main(main)
