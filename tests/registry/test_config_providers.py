"""Values from files, folders and the environment: within what the worker allows, and never shown."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

import pytest

from eosfw.builtin.config_providers import EnvVarConfigProvider
from eosfw.config import Config
from eosfw.config.worker import WORKER
from eosfw.errors import ConfigError
from eosfw.protocols import ConfigData, LookupRefusedError
from eosfw.registry import load_plugins
from eosfw.registry.config_transformer import (
    ConfigTransformer,
    TransformedProperties,
    config_transformer,
    parse_worker,
    redacted,
    transform_by,
)
from eosfw.runtime.checks.preflight import worker_problems

CANARY = "canary-s3cret"
PLUGINS = load_plugins()
DEFAULTS = {name: key.default for name, key in WORKER.keys.items()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of secrets, with a way out of it."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "db.properties").write_text(f"user=me\npassword={CANARY}\nodd=${{env:HOME}}\n")
    (folder / "token").write_text(CANARY)
    (folder / "twice.properties").write_text(f"a={CANARY}\na={CANARY}\n")
    (folder / "binary").write_bytes(b"\xff\xfe\xff")
    (folder / "large").write_bytes(b"x" * (1024 * 1024 + 1))
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (tmp_path / "outside").write_text(f"password={CANARY}\n")
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "loop").symlink_to(folder / "loop")
    (tmp_path / "secrets2").write_text(f"password={CANARY}\n")
    return folder


def properties(root: Path) -> dict[str, str]:
    return {
        "config.providers": "file, dir, env",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(root),
        "config.providers.dir.class": "DirectoryConfigProvider",
        "config.providers.dir.param.allowed.paths": str(root),
        "config.providers.env.class": "EnvVarConfigProvider",
        "config.providers.env.param.allowlist.pattern": "DB_.*",
    }


@pytest.fixture
def transformer(root: Path, monkeypatch: pytest.MonkeyPatch) -> ConfigTransformer:
    monkeypatch.setenv("DB_PASSWORD", CANARY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    return config_transformer(PLUGINS, WORKER.parse({"group.id": "g", **properties(root)}).given)


def of(transformer: ConfigTransformer, text: str) -> str:
    return transformer.transform({"password": text}).values["password"]


def test_references_are_replaced_by_what_providers_hold(transformer: ConfigTransformer, root: Path) -> None:
    assert of(transformer, f"${{file:{root}/db.properties:password}}") == CANARY
    assert of(transformer, f"${{dir:{root}:token}}") == CANARY
    assert of(transformer, "${env:DB_PASSWORD}") == CANARY
    assert of(transformer, f"x${{env:DB_PASSWORD}}y${{file:{root}/db.properties:user}}") == f"x{CANARY}yme"


@pytest.mark.parametrize("text", ["plain", "$", "${}", "${no colon}", "$file:a:b", "", "a:b}"])
def test_a_text_without_a_reference_stays_as_it_is(transformer: ConfigTransformer, text: str) -> None:
    assert of(transformer, text) == text


@pytest.mark.parametrize("text", ["${" + ":" * 1_000_000, "${a:" * 300_000, "${" * 500_000 + "}", "x" * 1_000_000])
def test_what_begins_like_a_reference_is_read_in_a_time_that_grows_with_its_length_alone(
    transformer: ConfigTransformer, text: str
) -> None:
    started_at = time.process_time()

    assert of(transformer, text) == text
    assert time.process_time() - started_at < 5


def test_references_are_found_where_kafkas_pattern_finds_them() -> None:
    kafkas = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")  # Kafka 4.1's `ConfigTransformer.DEFAULT_PATTERN`
    chance = random.Random(1)
    for _ in range(20_000):
        text = "".join(chance.choices(("${", "}", ":", "a", "$", "{", "\n"), k=chance.randint(1, 12)))
        providers = {one[1]: Echo(one[1]) for one in kafkas.finditer(text)}

        found = ConfigTransformer(providers).transform({"p": text}).values["p"]

        assert found == kafkas.sub(lambda one: f"<{one[1]}|{one[3] or ''}|{one[4]}>", text), text


def test_a_value_that_looks_like_a_reference_is_not_looked_up(transformer: ConfigTransformer, root: Path) -> None:
    assert of(transformer, f"${{file:{root}/db.properties:odd}}") == "${env:HOME}"


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("${file:/etc/passwd:root}", "allowed.paths do not allow this path"),
        ("${file:../../x:a}", "allowed.paths do not allow this path"),
        ("${file:ROOT/../outside:password}", "allowed.paths do not allow this path"),
        ("${file:ROOT/link:password}", "allowed.paths do not allow this path"),
        ("${file:ROOT2:password}", "allowed.paths do not allow this path"),
        ("${file:password}", "allowed.paths do not allow this path"),
        ("${file:ROOT/loop:password}", "there is no such file"),
        ("${file:ROOT/none:password}", "there is no such file"),
        ("${file:ROOT/folder:password}", "there is no such file"),
        ("${file:ROOT/pipe:password}", "there is no such file"),
        ("${file:ROOT/large:password}", "the file is longer than"),
        ("${file:ROOT/binary:password}", "the file is no UTF-8"),
        ("${file:ROOT/twice.properties:a}", "line 2 gives 'a' a second time"),
        ("${file:ROOT/db.properties:passwort}", "its file has no 'passwort'"),
        ("${dir:ROOT:../outside}", "a key is the name of a file"),
        ("${dir:ROOT:..}", "a key is the name of a file"),
        ("${dir:ROOT:link}", "allowed.paths do not allow this path"),
        ("${dir:/etc:passwd}", "allowed.paths do not allow this path"),
        ("${dir:token}", "allowed.paths do not allow this path"),
        ("${env:AWS_SECRET_ACCESS_KEY}", "allowlist.pattern does not allow 'AWS_SECRET_ACCESS_KEY'"),
        ("${env:DB_NONE}", "the environment has no 'DB_NONE'"),
        ("${env:x:DB_PASSWORD}", "environment variables have no path"),
        ("${vault:a:b}", "refers to a config provider that the worker's config.providers does not name"),
        ("${${env:DB_PASSWORD}}", "refers to a config provider that the worker's config.providers does not name"),
        ("${:a}", "refers to a config provider that the worker's config.providers does not name"),
    ],
)
def test_a_reference_without_a_value_is_named_by_its_property(
    transformer: ConfigTransformer, root: Path, reference: str, reason: str
) -> None:
    """Kafka leaves such a reference in place, and a client is then given it as a password."""
    with pytest.raises(ConfigError) as refused:
        of(transformer, reference.replace("ROOT", str(root)))

    assert str(refused.value).startswith("password: ")
    assert reason in str(refused.value)
    assert CANARY not in str(refused.value)
    assert str(root) not in str(refused.value)


def test_a_file_may_be_allowed_by_itself(root: Path) -> None:
    given = properties(root) | {"config.providers.file.param.allowed.paths": f"{root}/db.properties"}
    transformer = config_transformer(PLUGINS, given)

    assert of(transformer, f"${{file:{root}/db.properties:user}}") == "me"
    with pytest.raises(ConfigError, match="do not allow this path"):
        of(transformer, f"${{file:{root}/token:user}}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config.providers.file.class": "os:system"}, "config.providers.file.class: no config provider 'os:system'"),
        ({"config.providers.file.class": ""}, "config.providers.file needs a class"),
        ({"config.providers.file.param.allowed.paths": ""}, "name the files or folders that may be read"),
        ({"config.providers.file.param.allowed.paths": "secrets"}, "every path must be absolute"),
        (
            {"config.providers.file.param.allowed.path": "/x"},
            "'config.providers.file.param.allowed.path'; did you mean 'config.providers.file.param.allowed.paths'?",
        ),
        ({"config.providers.file.paths": "/x"}, "a config provider has class and param.*"),
        ({"config.providers.env.param.allowlist.pattern": "("}, "it is no regular expression"),
        ({"config.providers.vault.class": "x"}, "is for a provider that config.providers does not name"),
    ],
)
def test_a_provider_that_allows_everything_or_makes_no_sense_is_refused(
    root: Path, change: dict[str, str], message: str
) -> None:
    """What may be read is said, or nothing may be read."""
    given = {"group.id": "g", **properties(root), **change}
    with pytest.raises(ConfigError) as refused:
        config_transformer(PLUGINS, given)

    assert message in str(refused.value)
    values, problems = WORKER.read(given)
    problems += worker_problems(PLUGINS, Config({**DEFAULTS, **values}, given), "memory", lambda *_: ())
    assert [problem.what for problem in problems] == [problem.what for problem in refused.value.problems]


@pytest.mark.parametrize(("name", "parameter"), [("file", "allowed.paths"), ("env", "allowlist.pattern")])
def test_a_provider_needs_a_list_of_what_it_may_read(root: Path, name: str, parameter: str) -> None:
    given = properties(root)
    del given[f"config.providers.{name}.param.{parameter}"]

    with pytest.raises(ConfigError, match=f'configuration "config.providers.{name}.param.{parameter}" which has no'):
        config_transformer(PLUGINS, given)


class Echo:
    """A provider that says what it is asked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        return ConfigData({key: f"<{self.name}|{path}|{key}>" for key in keys})

    def close(self) -> None:
        pass


class Fixed:
    """A provider of fixed values, which counts what it is asked."""

    name: ClassVar[str] = "fixed"
    values: ClassVar[dict[str, str]] = {"password": CANARY, "user": "me", "long": f"{CANARY}-longer"}

    def __init__(self, ttl: float | None = None) -> None:
        self.ttl, self.asked, self.closed = ttl, list[tuple[str, list[str]]](), 0

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        self.asked.append((path, list(keys)))
        if unknown := set(keys) - set(self.values):
            raise LookupRefusedError(f"it has no {min(unknown)!r}")
        return ConfigData({key: self.values[key] for key in keys}, self.ttl)

    def close(self) -> None:
        self.closed += 1


def test_a_provider_is_asked_once_for_all_keys_at_a_path() -> None:
    """Services that keep secrets count, and charge for, requests."""
    provider = Fixed(ttl=60.0)
    transformer = ConfigTransformer({"p": provider})

    found = transformer.transform({"a": "${p:x:password}", "b": "${p:x:user}${p:x:password}", "c": "${p:user}"})

    assert provider.asked == [("", ["user"]), ("x", ["password", "user"])]
    assert (found.values["b"], found.ttl) == (f"me{CANARY}", 60.0)
    transformer.close()
    assert provider.closed == 1


def test_only_the_property_whose_key_is_missing_is_to_blame() -> None:
    with pytest.raises(ConfigError) as refused:
        ConfigTransformer({"p": Fixed()}).transform({"good": "${p:x:user}", "bad": "${p:x:usr}"})

    assert [problem.what for problem in refused.value.problems] == ["bad: config provider 'p': it has no 'usr'"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (RuntimeError(f"token {CANARY}"), "a: config provider 'p' failed: RuntimeError"),
        (ConfigData({}), "a: config provider 'p': it gives no text for 'k'"),
        ({"k": CANARY}, "a: config provider 'p': its get returned a dict; it must return a ConfigData"),
        (ConfigData({"k": b"x"}), "a: config provider 'p': it gives no text for 'k'"),  # type: ignore[dict-item]
    ],
)
def test_a_provider_that_breaks_its_contract_is_named_without_what_it_said(answer: object, message: str) -> None:
    class Broken(Fixed):
        def get(self, path: str, keys: Collection[str]) -> ConfigData:
            if isinstance(answer, Exception):
                raise answer
            return answer  # type: ignore[return-value]

    with pytest.raises(ConfigError) as refused:
        ConfigTransformer({"p": Broken()}).transform({"a": "${p:k}"})

    assert str(refused.value) == message


def test_a_provider_that_fails_when_it_is_closed_fails_nothing_else(
    root: Path, transformer: ConfigTransformer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What it gave is there: neither is a lookup refused for that, nor does a run fail that has ended well."""

    def fail(_: object) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr(EnvVarConfigProvider, "close", fail)

    assert transform_by(PLUGINS, properties(root), {"p": "${env:DB_PASSWORD}"}).values["p"] == CANARY
    transformer.close()

    assert "config provider 'env' failed when it was closed: RuntimeError" in caplog.messages
    assert CANARY not in caplog.text


def test_a_provider_that_fails_when_it_is_configured_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: EnvVarConfigProvider, config: Config) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr(EnvVarConfigProvider, "configure", fail)
    with pytest.raises(ConfigError) as refused:
        config_transformer(PLUGINS, properties(root))

    assert str(refused.value) == "config.providers.env: it failed when it was configured: RuntimeError"


def transformed(**given: str) -> TransformedProperties:
    return ConfigTransformer({"p": Fixed()}).transform(given)


def test_what_a_connector_derives_has_references_again() -> None:
    """CVE-2019-12399: task configurations are stored in the config topic, and shown."""
    found = transformed(password="${p:password}", user="${p:user}", long="${p:long}", plain="x")

    assert found.restored(
        {
            "password": CANARY,
            "user": "me",
            "url": f"db://me:{CANARY}@host",
            "other": f"{CANARY}-longer",
            "plain": "me too",
        }
    ) == {
        "password": "${p:password}",
        "user": "${p:user}",
        "url": "db://me:${p:password}@host",
        "other": "${p:long}",
        "plain": "me too",
    }


def test_no_text_shows_a_value() -> None:
    found = transformed(password="${p:password}", long="${p:long}")

    assert CANARY not in repr(found)
    assert (
        redacted(f"cannot log in with {CANARY}-longer or {CANARY}", found.replaced.values())
        == "cannot log in with [hidden] or [hidden]"
    )


def test_a_workers_own_properties_may_refer_to_its_providers(root: Path, transformer: ConfigTransformer) -> None:
    """As a password of its clients does in a file of Kafka Connect's; what the providers are is never a reference."""
    given = {"group.id": "g", **properties(root), "producer.sasl.password": "${env:DB_PASSWORD}"}

    config = parse_worker(PLUGINS, WORKER, given, "worker")

    assert config.given["producer.sasl.password"] == CANARY
    assert transform_by(PLUGINS, given, {"sasl.password": "${env:DB_PASSWORD}"}).values == {"sasl.password": CANARY}
    assert CANARY not in repr(config)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("offset.storage.partitions", "${env:DB_PASSWORD}", "Invalid value [hidden] for configuration offset.storage"),
        ("group.id", "${env:HOME}", "worker: group.id: config provider 'env': its param.allowlist.pattern"),
        ("producer.acks", "${vault:x}", "worker: producer.acks: refers to a config provider"),
    ],
)
def test_a_workers_property_is_refused_without_its_secret(
    root: Path, transformer: ConfigTransformer, name: str, text: str, message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_worker(PLUGINS, WORKER, {"group.id": "g", **properties(root), name: text}, "worker")

    assert message in str(refused.value)
    assert CANARY not in str(refused.value)
