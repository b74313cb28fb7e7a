"""`EmbeddedCluster`: start, stop, and clear errors if it cannot start."""

from __future__ import annotations

import resource
import signal
import socket
import subprocess
import sys
import threading

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, LocalCluster, NewTopic
from eosfw.records import OffsetRange, ProducerRecord
from eosfw.registry import load_plugins
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from ports import free_port

from ..groups.group_requests import Raw

WAIT = 30.0
API_VERSIONS = 18


def start(**properties: str) -> EmbeddedCluster:
    return EmbeddedCluster.start({name.replace("_", "."): value for name, value in properties.items()}, ThreadRuntime())


def test_the_backend_is_registered_as_memory():
    assert load_plugins().cluster("memory") is EmbeddedCluster
    cluster = start()
    cluster.close()
    assert isinstance(cluster, LocalCluster)


def test_the_port_is_open_on_return_and_free_after_close():
    """Closing again is harmless: the port may be another's by then."""
    threads = set(threading.enumerate())
    cluster = start(listeners=f"127.0.0.1:{free_port()}")
    host, port = cluster.bootstrap_servers.split(":")
    socket.create_connection((host, int(port))).close()

    cluster.close()

    assert set(threading.enumerate()) <= threads
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))
    again = start(listeners=cluster.bootstrap_servers)
    cluster.close()
    socket.create_connection((host, int(port))).close()
    again.close()
    assert set(threading.enumerate()) <= threads


def test_a_cluster_without_listeners_serves_only_this_process():
    """No port; what a socket would be told names the reason; transactions beyond their timeout are still aborted."""
    threads = set(threading.enumerate())
    run_due_tasks = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    cluster = EmbeddedCluster.start({"listeners": "", run_due_tasks: "10"}, ThreadRuntime())
    backend = MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, ThreadRuntime())
    backend.admin().create_topics([NewTopic("t", 1)])
    holder = backend.producer("id", transaction_timeout=0.001)
    holder.init_transactions(WAIT)
    holder.begin_transaction()
    holder.send(ProducerRecord("t", b"late", partition=0))
    holder.flush(WAIT)

    read = backend.reader(IsolationLevel.READ_COMMITTED).read({TopicPartition("t", 0): OffsetRange(0, 1)}, WAIT)

    assert list(read) == []  # it ended, so a control record follows: the sweeper has been there
    host, port = cluster.bootstrap_servers.split(":")
    assert "without-a-port" in host
    with pytest.raises(socket.gaierror):
        socket.create_connection((host, int(port)))
    backend.close()
    cluster.close()
    assert set(threading.enumerate()) <= threads


def test_a_port_in_use_is_named_with_what_to_do():
    cluster = start()

    with pytest.raises(ConfigError, match=r"the port is in use; .*another"):
        start(listeners=cluster.bootstrap_servers)
    cluster.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org", ""])
def test_other_machines_are_let_in_only_with_an_advertised_address(host):
    """An open broker without authentication is never an accident."""
    with pytest.raises(ConfigError, match=r"advertised\.listeners"):
        start(listeners=f"{host}:0")


def test_clients_receive_the_advertised_address():
    cluster = start(listeners="0.0.0.0:0", advertised_listeners="PLAINTEXT://localhost:0")
    port = cluster.broker.endpoint.port
    cluster.close()

    assert cluster.bootstrap_servers == f"localhost:{port}"
    assert port > 0


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"listeners": "127.0.0.1"}, "not HOST:PORT"),
        ({"listeners": "127.0.0.1:70000"}, "not HOST:PORT"),
        ({"listeners": "SSL://127.0.0.1:0"}, "listener SSL needs a certificate"),
        ({"num.partitons": "3"}, "did you mean 'num.partitions'"),
        ({"num.partitions": "0"}, "at least 1"),
    ],
)
def test_a_wrong_property_is_named(properties, message):
    with pytest.raises(ConfigError, match=message):
        EmbeddedCluster.start(properties, ThreadRuntime())


def test_the_broker_process_reports_a_failed_start_in_one_line():
    command = [sys.executable, "-m", "eosfw_memory", "--listen", "0.0.0.0:0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout) == (3, "")
    assert "advertised.listeners" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process can be set on Linux alone")
def test_without_free_descriptors_clients_wait_until_there_are_some():
    """One sentence on the log, where there was one for each attempt to accept: 57,197 in a minute."""
    process = subprocess.Popen([sys.executable, "-m", "eosfw_memory"], stdout=-1, stderr=-1, text=True)
    address = process.stdout.readline().split()[-1]
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (64, 64))

    served, waiting = [Raw(address) for _ in range(40)], [Raw(address) for _ in range(40)]
    message = process.stderr.readline()
    for raw in waiting:
        raw.send(API_VERSIONS, 0)
    for raw in (*served, *waiting):
        answer = raw.ask(API_VERSIONS, 0) if raw in served else raw.receive()
        assert answer["error_code"] == 0
        raw.close()

    process.send_signal(signal.SIGTERM)
    rest = process.communicate(timeout=WAIT)[1]
    assert "Too many open files" in message
    assert "ulimit -n" in message
    assert rest == ""
    assert process.returncode == 0
