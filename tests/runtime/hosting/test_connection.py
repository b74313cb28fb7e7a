"""The connection between a worker and the process of a task."""

from __future__ import annotations

import errno
import json
import os
import socket
from contextlib import suppress
from typing import Any

import pytest

from eosfw.concurrency import Queue, ThreadRuntime
from eosfw.errors import ConfigError, ExitCode, Problem, TaskFailedError
from eosfw.runtime.hosting import connection, task_server
from eosfw.runtime.hosting.connection import ConnectionLostError, TaskConnection
from eosfw.runtime.hosting.messages import error_from_json, error_to_json
from eosfw.runtime.hosting.task_server import TaskServer


def test_nobody_is_served_without_the_key():
    runtime, served = ThreadRuntime(), []

    def serve(connection: TaskConnection) -> None:
        served.append(connection.receive())
        connection.close()

    server = TaskServer("127.0.0.1", serve, runtime)
    try:
        with pytest.raises(ConnectionLostError):
            TaskConnection.connected(("127.0.0.1", server.port), b"guessed", runtime)
        with socket.create_connection(("127.0.0.1", server.port)) as odd:
            odd.sendall(b"\xff\xff\xff\xff GET / HTTP/1.1")
            while odd.recv(1000):
                pass
        ours = TaskConnection.connected(("127.0.0.1", server.port), server.key, runtime)
        ours.close()
    finally:
        server.close()
    assert served in ([], [None])
    with pytest.raises(ConnectionLostError, match="cannot be reached"):
        TaskConnection.connected(("127.0.0.1", server.port), server.key, runtime)


def test_whoever_sends_a_proof_byte_by_byte_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stranger who reaches the port holds a thread meanwhile: seconds are for the whole proof."""
    monkeypatch.setattr(connection, "HANDSHAKE_TIMEOUT", 0.5)
    runtime = ThreadRuntime()
    given_up, listener = runtime.event(), socket.create_server(("127.0.0.1", 0))
    stranger = socket.create_connection(listener.getsockname())
    own, _ = listener.accept()

    def dribble() -> None:
        stranger.sendall(b"\0\0\4\0")
        while not given_up.wait(0.1):
            with suppress(OSError):
                stranger.sendall(b" ")

    runtime.spawn("stranger", dribble)
    began = runtime.now()
    try:
        with pytest.raises(ConnectionLostError, match="does not speak its protocol"):
            TaskConnection.accepted(own, b"key", runtime)
    finally:
        given_up.set()
        stranger.close()
        listener.close()
    assert runtime.now() - began < 30.0, "a message of 1,024 bytes would take 100 s"


def test_processes_are_connected_again_once_descriptors_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    class OutOfDescriptors(socket.socket):
        def accept(self) -> Any:
            if not failed:
                failed.append(self)
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return super().accept()

    failed: list[socket.socket] = []
    monkeypatch.setattr(socket, "socket", OutOfDescriptors)
    monkeypatch.setattr(task_server, "_PAUSE", 0.01)
    runtime = ThreadRuntime()
    served: Queue[TaskConnection] = runtime.queue()
    server = TaskServer("127.0.0.1", served.put, runtime)
    try:
        task = TaskConnection.connected(("127.0.0.1", server.port), server.key, runtime)
        served.get(10).close()
        task.close()
    finally:
        server.close()
    assert failed


def test_a_message_that_was_sent_in_part_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What came behind it would be read as its rest."""
    monkeypatch.setattr(connection, "SEND_TIMEOUT", 1)
    runtime = ThreadRuntime()
    served: Queue[TaskConnection] = runtime.queue()
    server = TaskServer("127.0.0.1", served.put, runtime)
    task = TaskConnection.connected(("127.0.0.1", server.port), server.key, runtime)
    server.close()
    worker = served.get(10)

    with pytest.raises(ConnectionLostError):
        worker.send({"do": "x" * (1 << 25)})  # more than the socket holds, and nobody reads

    with pytest.raises(ConnectionLostError):
        worker.send({"do": "stop"})
    assert task.receive() is None
    assert worker.receive() is None
    task.close()


def test_errors_keep_class_text_and_exit_code_on_their_way():
    cause = ConfigError(Problem("[cluster]", "is odd"))
    error = TaskFailedError("it failed")
    error.__cause__, error.exit_code = cause, ExitCode.UNAVAILABLE
    found = error_from_json(json.loads(json.dumps(error_to_json(error))))
    assert (type(found), str(found), found.exit_code) == (TaskFailedError, "it failed", ExitCode.UNAVAILABLE)
    assert (type(found.__cause__), str(found.__cause__)) == (ConfigError, "[cluster]: is odd")
    assert "KeyError: 'x'" in str(error_from_json(error_to_json(KeyError("x"))))
