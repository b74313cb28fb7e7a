"""Measure how long a client takes to say that a secured Kafka refuses it, and what it says, mistake by mistake.

Starts a real Kafka with TLS, SASL/PLAIN, SCRAM and OAUTHBEARER, a token endpoint, and an embedded broker whose
certificate has expired. `--tree DIR` measures another checkout as well, such as
`git worktree add /tmp/before HEAD~1` makes, which meets the same Kafka. Each call is the first one of a new admin
client, with the default timeouts. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmark import run_main, scaled, show

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "backends/confluent/src", "backends/kafka_python/src", "backends/memory/src")
BACKENDS = ("memory", "confluent", "kafka-python")
KEYSTORE = "ssl.keystore.location"


def mistakes(kafka: Any, endpoint: Any, folder: Path) -> dict[str, dict[str, str]]:
    """The properties of clients that are refused; by names that librdkafka has, too, as long as that is possible."""
    from secured_kafka import PASSWORD, SCRAM, Authority
    from token_endpoint import TokenEndpoint

    other = Authority.make(folder / "other", "another authority")
    servers, port = {"bootstrap.servers": kafka.sasl_ssl}, kafka.sasl_ssl.rpartition(":")[2]
    tls = {**servers, "ssl.ca.location": str(kafka.authority.ca)}
    user = {"sasl.username": "alice", "sasl.password": PASSWORD}
    right = {**tls, **user, "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}
    mutual = {**tls, "bootstrap.servers": kafka.mutual, "security.protocol": "SSL"}
    own, strange = kafka.authority.issue("client.pem", "alice-client"), other.issue("client.pem", "alice-client")
    tokens = {**tls, "security.protocol": "SASL_SSL", **endpoint.client()}
    with TokenEndpoint() as ended:
        no_endpoint = {**tls, "security.protocol": "SASL_SSL", **ended.client()}
    stores = {name: pkcs12(path, folder / f"{name}.p12") for name, path in (("ca", other.ca), ("client", strange))}
    java_only = folder / "client.jks"
    java_only.write_bytes(b"\xfe\xed\xfe\xed")
    by_store = {name: text for name, text in mutual.items() if name != "ssl.ca.location"}
    return {
        "nothing wrong": right,
        "wrong password, SCRAM": right | {"sasl.password": "wrong"},
        "wrong password, PLAIN": right | {"sasl.mechanism": "PLAIN", "sasl.password": "wrong"},
        "user unknown": right | {"sasl.username": "nobody"},
        "no user": {name: text for name, text in right.items() if name not in user},
        "mechanism not offered": right | {"sasl.mechanism": "GSSAPI"},
        "no mechanism": {name: text for name, text in right.items() if name != "sasl.mechanism"},
        "no authority": {name: text for name, text in right.items() if name != "ssl.ca.location"},
        "authority unknown, PEM": right | {"ssl.ca.location": str(other.ca)},
        "authority unknown, PKCS12": by_store
        | {"ssl.truststore.location": stores["ca"], "ssl.truststore.password": PASSWORD},
        "wrong host name": right | {"bootstrap.servers": f"localhost:{port}"},
        "certificate expired": tls | {"security.protocol": "SSL"},
        "TLS to a plain listener": right | {"bootstrap.servers": kafka.plain},
        "TLS without SASL to a plain listener": mutual | {"bootstrap.servers": kafka.plain},
        "no TLS to a TLS listener": right | {"security.protocol": "SASL_PLAINTEXT"},
        "neither TLS nor SASL": right | {"security.protocol": "PLAINTEXT"},
        "no SASL to a SASL listener": right | {"security.protocol": "SSL"},
        "SASL to a listener without it": right | mutual | {"security.protocol": "SASL_SSL", KEYSTORE: str(own)},
        "no client certificate": mutual,
        "client certificate of another authority, PEM": mutual | {KEYSTORE: str(strange)},
        "client certificate of another authority, PKCS12": mutual
        | {KEYSTORE: stores["client"], "ssl.keystore.password": PASSWORD},
        "no such file": right | {"ssl.ca.location": str(folder / "nowhere.pem")},
        "no such key": mutual | {KEYSTORE: str(folder / "nowhere.pem"), "ssl.keystore.type": "PEM"},
        "password of a PKCS12 truststore": by_store
        | {"ssl.truststore.location": stores["ca"], "ssl.truststore.password": "wrong"},
        "password of a PKCS12 keystore": mutual | {KEYSTORE: stores["client"], "ssl.keystore.password": "wrong"},
        "JKS": mutual | {KEYSTORE: str(java_only)},
        "two users": right | {"sasl.jaas.config": f'{SCRAM} required username="bob" password="wrong";'},
        "token endpoint down": no_endpoint,
        "wrong secret": tokens | {"sasl.oauthbearer.client.credentials.client.secret": "wrong"},
        "TLS to a token endpoint without": tokens
        | {"sasl.oauthbearer.token.endpoint.url": endpoint.url.replace("http:", "https:")},
        "no right": right | {"transactional.id": "orders"},
    }


def pkcs12(pem: Path, to: Path) -> str:
    """The path of a PKCS#12 file with what a PEM file has."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
    from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

    from secured_kafka import PASSWORD

    text = pem.read_bytes()
    chain = x509.load_pem_x509_certificates(text)
    key: Any = load_pem_private_key(text, None) if b"PRIVATE KEY" in text else None
    own, others = (chain[0], chain[1:]) if key is not None else (None, chain)
    encryption = BestAvailableEncryption(PASSWORD.encode())
    to.write_bytes(serialize_key_and_certificates(b"one", key, own, others, encryption))
    return str(to)


@contextmanager
def expired_broker(authority: Any, folder: Path) -> Iterator[str]:
    """The address of an embedded broker whose certificate has expired."""
    from eosfw.concurrency import ThreadRuntime
    from eosfw_memory.cluster import EmbeddedCluster

    issued = authority.signs.issue_cert("127.0.0.1", not_after=datetime(2024, 2, 29, tzinfo=UTC))
    keystore = folder / "expired.pem"
    issued.private_key_and_cert_chain_pem.write_to_path(str(keystore))
    properties = {"listeners": "SSL://127.0.0.1:0", "ssl.keystore.location": str(keystore)}
    with closing(EmbeddedCluster.start(properties, ThreadRuntime())) as served:
        yield served.bootstrap_servers


def call(backend: str, properties: Mapping[str, str]) -> tuple[float, str]:
    """Seconds until the first call has answered, and the answer."""
    from eosfw.concurrency import ThreadRuntime
    from eosfw.errors import EosfwError

    if backend == "confluent":
        from eosfw_confluent.backend import ConfluentBackend as Backend
    elif backend == "kafka-python":
        from eosfw_kafka_python.backend import KafkaPythonBackend as Backend  # type: ignore[assignment]
    else:
        from eosfw_memory.client.backend import MemoryBackend as Backend  # type: ignore[assignment]
    properties = dict(properties)
    transactional_id = properties.pop("transactional.id", None)
    began, answer = time.perf_counter(), "answered"
    try:
        client = Backend.connect(properties, ThreadRuntime())
        if transactional_id is None:
            client.admin().partitions()
        else:
            client.producer(transactional_id).init_transactions(30.0)
        client.close()
    except EosfwError as why:
        answer = f"{type(why).__name__}: {why}"
    return round(time.perf_counter() - began, 2), answer


def measured(tree: Path, asked: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """What a process that uses the sources of a checkout finds."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(tree / each) for each in SOURCES)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--child"],
        input=json.dumps(asked),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, action="append", default=[], help="another checkout")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        asked = json.load(sys.stdin)
        found = {one: {backend: call(backend, properties) for backend in BACKENDS} for one, properties in asked.items()}
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory() as folder:
        sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]
        from secured_kafka import SecuredKafka
        from token_endpoint import TokenEndpoint

        kafka = SecuredKafka.start(Path(folder) / "kafka")
        try:
            with TokenEndpoint() as endpoint, expired_broker(kafka.authority, Path(folder)) as expired:
                every = mistakes(kafka, endpoint, Path(folder))
                every["certificate expired"]["bootstrap.servers"] = expired
                some = dict(list(every.items())[: scaled(len(every))])
                show({tree.name or "this": measured(tree, some) for tree in (ROOT, *arguments.tree)})
        finally:
            kafka.stop()


if __name__ == "__main__":
    run_main(main)
