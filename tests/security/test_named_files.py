"""A file that a property names may be a device, a dump or a mistake: no more than 16 MiB of it are read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import KeySet, OctKey

from eosfw.builtin.converters.value_schema import value_schema
from eosfw.concurrency import ThreadRuntime
from eosfw.config import Config
from eosfw.config.security import SecurityProtocol, SecuritySettings
from eosfw.config.worker import WORKER
from eosfw.errors import ConfigError
from eosfw.security.pkcs12 import authorities_pem
from eosfw_memory.client.transport.tls_context import TlsContext
from eosfw_memory.faults.parsing import read_rules
from eosfw_memory.server.security.json_web_keys import JsonWebKeys, JsonWebKeysConfig, JsonWebKeysError
from eosfw_memory.server.security.users_file import UsersFile
from eosfw_rest.server import ConnectRestServer
from eosfw_schema_registry.avro.given_schema import given_schema
from eosfw_singer.properties import Json
from secured_kafka import Authority


def of_rest_interface(path: Path) -> Any:
    given = {"group.id": "g", "listeners": "http://127.0.0.1:0", "rest.authentication.file": str(path)}
    return ConnectRestServer.start((WORKER + ConnectRestServer.config).parse(given), ThreadRuntime())


def of_keys_for_tokens(path: Path) -> Any:
    return JsonWebKeys(
        JsonWebKeysConfig(url=path.as_uri(), refresh=3600.0, backoff=10.0, ca_location=""), ThreadRuntime()
    )


def of_avro(path: Path) -> Any:
    return given_schema(Config({"schema": None, "schema.file": str(path), "use.latest.version": False}, {}))


def of_json(path: Path) -> Any:
    return value_schema(Config({"value.schema": None, "value.schema.file": str(path)}, {}))


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (UsersFile, "cannot be read: File too large"),
        (of_keys_for_tokens, "cannot be read: File too large"),
        (of_rest_interface, "File too large"),
        (read_rules, "cannot be read: .*File too large"),
        (of_json, "cannot be read: File too large"),
        (of_avro, "schema.file cannot be read: .*File too large"),
        (lambda path: authorities_pem(str(path), ""), "cannot be read: File too large"),
        (lambda path: Json("config").parse(str(path)), "the path of a file with one$"),
    ],
    ids=["users", "keys for tokens", "REST", "faults", "JSON schema", "Avro schema", "PKCS#12", "tap"],
)
def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path, read: Callable[[Path], Any], error: str) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"{}\n")
    with path.open("r+b") as file:
        file.truncate((16 << 20) + 1)

    with pytest.raises((ConfigError, JsonWebKeysError, ValueError), match=error):
        read(path)


def rewritten_in_one_tick(path: Path, content: bytes) -> None:
    """Write a file in place, as if within the tick of the clock in which it was written before."""
    before = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)


def test_users_who_are_written_twice_in_one_tick_of_the_clock_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_bytes(b"alice=one\n")
    users = UsersFile(path)
    first = users.passwords()
    assert users.passwords() is first

    rewritten_in_one_tick(path, b"alice=two\n")

    assert users.passwords() == {"alice": "two"}


def test_keys_for_tokens_that_are_written_twice_in_one_tick_of_the_clock_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    keys = [OctKey.import_key(secret * 16, {"kid": name}) for name, secret in (("one", "1"), ("two", "2"))]
    first, second = (json.dumps(KeySet([key]).as_dict(private=True)).encode() for key in keys)
    path.write_bytes(first)
    read = of_keys_for_tokens(path)
    assert [key.kid for key in read.current()] == ["one"]

    rewritten_in_one_tick(path, second)

    assert [key.kid for key in read.current()] == ["two"]


def test_a_certificate_that_is_written_twice_in_one_tick_of_the_clock_is_read_again(tmp_path: Path) -> None:
    authority, path = Authority.make(tmp_path), tmp_path / "client.pem"
    first, second = (authority.issue(f"{name}.pem", "alice").read_bytes() for name in ("one", "two"))
    longest = max(len(first), len(second))
    path.write_bytes(first.ljust(longest, b"\n"))
    location = {"certificate_location": str(path), "key_location": str(path)}
    tls = TlsContext(SecuritySettings(protocol=SecurityProtocol.SSL, ca_location=str(authority.ca), **location))
    before = tls.current()
    assert tls.current() is before

    rewritten_in_one_tick(path, second.ljust(longest, b"\n"))

    assert tls.current() is not before


def test_a_pipe_that_is_named_gives_its_content_once(tmp_path: Path) -> None:
    """As from a shell's `<(...)`: a look at it would take what the reader needs."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = ThreadRuntime().spawn("writer", lambda: path.write_text("alice=one\n") and None)

    users = UsersFile(path)
    writer.join()

    assert users.passwords() == {"alice": "one"}
