"""What a connector may change of its clients, and what no policy lets it change (CFG-08, KIP-458, KIP-1188)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eosfw import Config
from eosfw.config.clients import connector_admin, offsets_consumer, task_producer
from eosfw.config.connector import SOURCE_CONNECTOR
from eosfw.config.override_policy import LOCAL_FILE_POLICY, override_refusals
from eosfw.config.worker import WORKER
from eosfw.errors import ConfigError
from eosfw.pipeline.definition.parsing import parse

POLICY = "connector.client.config.override."


def worker(policy: str | None = None, **more: str) -> Config:
    given = {"group.id": "g", "exactly.once.source.support": "enabled"}
    given |= {} if policy is None else {f"{POLICY}policy": policy}
    return WORKER.parse(given | {POLICY + name.replace("_", "."): text for name, text in more.items()})


def refused(on: Config, name: str, value: str = "canary", prefix: str = "producer.override.") -> str:
    """The reason, without what is before it; empty if the override is allowed."""
    reasons = override_refusals(on, {prefix + name: value, "topic": "t"})
    assert value not in "".join(reasons.values()), "a value is never shown"
    return reasons.get(prefix + name, "")


@pytest.mark.parametrize("prefix", ["producer.override.", "consumer.override.", "admin.override."])
def test_by_default_a_connector_changes_nothing_of_its_clients(prefix: str) -> None:
    """CFG-08: Kafka Connect's default lets everything through, which was the way in of CVE-2023-25194."""
    reason = refused(worker(), "linger.ms", prefix=prefix)

    assert reason == "The 'None' policy does not allow 'linger.ms' to be overridden in the connector configuration."


@pytest.mark.parametrize("word", ["All", "all", "ALL"])
def test_the_policy_all_lets_ordinary_properties_through(word: str) -> None:
    """CFG-08."""
    assert refused(worker(word), "linger.ms") == ""


def test_the_policy_principal_lets_a_connector_say_who_it_is() -> None:
    """CFG-08: the names that Python's clients have for it as well."""
    on = worker("Principal")

    for name in ("sasl.jaas.config", "sasl.mechanism", "security.protocol", "sasl.username", "sasl.password"):
        assert refused(on, name) == ""
    assert "The 'Principal' policy does not allow 'acks'" in refused(on, "acks")


def test_the_policy_allowlist_lets_the_listed_names_through() -> None:
    """CFG-08, KIP-1188."""
    on = worker("Allowlist", allowlist="linger.ms, batch.size")

    assert refused(on, "batch.size") == ""
    assert "The 'Allowlist' policy does not allow 'acks'" in refused(on, "acks")
    assert "The 'Allowlist' policy" in refused(worker("Allowlist"), "linger.ms")


LOADING = (
    "plugin.library.paths",
    "Plugin.Library.Paths",
    "error_cb",
    "oauth_cb",
    "on_commit_cb",
    "ssl.engine.location",
    "ssl.engine.factory.class",
    "ssl.providers",
    "sasl.kerberos.kinit.cmd",
    "sasl.login.callback.handler.class",
    "sasl.client.callback.handler.class",
    "interceptor.classes",
    "metric.reporters",
    "security.providers",
)


@pytest.mark.parametrize("policy", ["None", "All", "Principal", "Allowlist"])
def test_no_policy_lets_a_connector_load_code_or_run_a_command(policy: str) -> None:
    """CVE-2026-86792 and its kin: even a name on the allow-list."""
    told = "makes a client load code or run a command: no policy allows it"
    found = {
        name: refused(worker(policy, allowlist=name, allowed_paths="/", allowed_urls="*"), name, "os.system")
        for name in LOADING
    }

    assert found == dict.fromkeys(LOADING, told)


@pytest.mark.parametrize(
    "name", ["ssl.ca.location", "ssl.key.location", "sasl.kerberos.keytab", "ssl.crl.location", "sasl.oauthbearer.file"]
)
def test_a_file_is_named_within_the_allowed_folders_alone(tmp_path: Path, name: str) -> None:
    """CVE-2025-27817: a client that reads any file shows it in its errors, or sends it."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
        (folder / "ca.pem").touch()
    (root / "link.pem").symlink_to(outside / "ca.pem")
    on = worker("All", allowed_paths=str(root))

    assert refused(on, name, str(root / "ca.pem")) == ""
    assert refused(on, name, str(root / "not-there.pem")) == ""
    for escape in (outside / "ca.pem", root / "link.pem", root / ".." / "outside" / "ca.pem", Path(f"{root}2/ca.pem")):
        assert refused(on, name, str(escape)) == f"names a file outside {POLICY}allowed.paths"
    for odd in ("ca.pem", f"{root}/ca.pem\0.txt", "file:///etc/passwd"):
        assert "names a file outside" in refused(on, name, odd)
    assert "names a file outside" in refused(worker("All"), name, "/etc/passwd")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://idp.example/oauth/token", ""),
        ("https://idp.example/oauth", ""),
        ("https://idp.example/oauth2/token", "names a URL outside"),
        ("https://idp.example/oauth/../admin", "names a URL outside"),
        ("https://idp.example/oauth/%2E%2e/admin", "names a URL outside"),
        ("http://idp.example/oauth/token", "names a URL outside"),
        ("https://idp.example:8443/oauth/token", "names a URL outside"),
        ("https://idp.example.evil.example/oauth/", "names a URL outside"),
        ("https://idp.example@evil.example/oauth/", "must be a URL without a user"),
        ("file:///etc/passwd", "must be an http or https URL"),
        ("ldap://evil.example/x", "must be an http or https URL"),
        ("https://", "must be an http or https URL"),
        ("https://[::1", "is no URL"),
        ("https://idp.example:99999/", "is no URL"),
    ],
)
def test_a_url_is_one_of_those_allowed(url: str, reason: str) -> None:
    """CVE-2025-27817: a client that calls any URL is a way into the network of the worker."""
    on = worker("All", allowed_urls="https://idp.example/oauth/")

    assert refused(on, "sasl.oauthbearer.token.endpoint.url", url).startswith(reason)
    assert bool(refused(on, "sasl.oauthbearer.jwks.endpoint.url", url)) == bool(reason)


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "0xa9.0xfe.0xa9.0xfe",
        "169.254.43518",
        "169.254.169.254.",
        "\uff11\uff16\uff19.254.169.254",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "metadata.google.internal",
        "METADATA.google.internal.",
        "\uff4detadata.google.internal",
    ],
)
def test_no_policy_lets_a_url_name_a_clouds_metadata(host: str) -> None:
    """There a machine is told its credentials."""
    on = worker("All", allowed_urls="*")

    assert "where clouds keep credentials" in refused(
        on, "sasl.oauthbearer.token.endpoint.url", f"http://{host}/latest"
    )
    assert refused(on, "sasl.oauthbearer.token.endpoint.url", "https://idp.example/token") == ""


def test_a_relative_root_is_refused() -> None:
    with pytest.raises(ConfigError, match="every path must be absolute"):
        worker("All", allowed_paths="secrets")


def test_a_pipeline_file_may_override_what_its_author_likes() -> None:
    """Worker and connectors are written by the same person; code is refused all the same."""
    flow = parse({"worker": {"group.id": "g"}}, Path("flow.toml"))
    on = WORKER.parse(flow.worker)

    assert refused(on, "linger.ms") == ""
    assert refused(on, "ssl.ca.location", "/any/where.pem") == ""
    assert "load code" in refused(on, "error_cb")


def test_a_pipeline_file_can_choose_a_stricter_policy() -> None:
    flow = parse({"worker": {"group.id": "g", f"{POLICY}policy": "None"}}, Path("flow.toml"))

    assert "The 'None' policy" in refused(WORKER.parse(flow.worker), "linger.ms")


def test_what_the_config_topic_holds_is_checked_where_clients_are_made() -> None:
    """A worker of another kind, or another policy, may have let it in."""
    connector = SOURCE_CONNECTOR.parse(
        {
            "name": "c",
            "connector.class": "file",
            "producer.override.linger.ms": "5",
            "consumer.override.fetch.min.bytes": "1",
            "admin.override.error_cb": "os.system",
        }
    )
    strict, permissive = worker(), WORKER.parse({"group.id": "g", **LOCAL_FILE_POLICY})

    with pytest.raises(ConfigError, match=r"producer\.override\.linger\.ms: The 'None' policy"):
        task_producer(strict, connector, "g-c-0")
    with pytest.raises(ConfigError, match=r"consumer\.override\.fetch\.min\.bytes"):
        offsets_consumer(strict, connector)
    with pytest.raises(ConfigError, match=r"admin\.override\.error_cb: makes a client load code"):
        connector_admin(permissive, connector)


class Judge:
    """A policy of a plugin, with what it was asked."""

    name = "judge"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    def refusals(self, request: Any) -> Any:
        self.asked.append(request)
        return self.answer(request)


def judged_by(answer: Any) -> tuple[Config, Judge]:
    """A worker whose policy is that of a plugin."""
    judge = Judge(answer)
    return Config({**worker("judge"), f"{POLICY}policy": judge}, {}), judge


def test_a_policy_of_a_plugin_is_asked_once_for_each_client_with_names_without_prefix() -> None:
    """PLG-12: with the connector, as Kafka Connect's `ConnectorClientConfigRequest` is."""
    on, judge = judged_by(lambda request: {name: "not today" for name in request.properties if name == "acks"})
    given = {"name": "c", "connector.class": "file", "producer.override.acks": "1", "producer.override.linger.ms": "5"}

    assert override_refusals(on, {**given, "admin.override.retries": "7"}) == {"producer.override.acks": "not today"}
    assert [(one.connector, one.connector_class, one.client, dict(one.properties)) for one in judge.asked] == [
        ("c", "file", "producer", {"acks": "1", "linger.ms": "5"}),
        ("c", "file", "admin", {"retries": "7"}),
    ]
    assert "5" not in repr(judge.asked[0])


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (lambda _: 1 / 0, "a policy that fails"),
        (lambda _: None, "a policy that answers nothing"),
        (lambda request: dict.fromkeys(request.properties, ""), "a policy without a reason"),
        (lambda request: {name: f"no {text}" for name, text in request.properties.items()}, "one that shows a value"),
    ],
)
def test_what_a_policy_of_a_plugin_has_not_judged_is_refused(answer: Any, what: str) -> None:
    """PLG-12: in Kafka Connect's words, without a value."""
    on, _ = judged_by(answer)

    assert refused(on, "linger.ms") == (
        "The 'judge' policy does not allow 'linger.ms' to be overridden in the connector configuration."
    ), what


@pytest.mark.parametrize("name", ["sasl.oauthbearer.token.endpoint.url", "ssl.ca.location", "interceptor.classes"])
def test_no_policy_of_a_plugin_lets_code_files_or_urls_through(name: str) -> None:
    """PLG-12: what is refused by every policy is refused by those of plugins."""
    on, _ = judged_by(lambda _: {})

    assert refused(on, "linger.ms") == ""
    assert refused(on, name, "/canary/of/a/file") != ""


def test_a_policy_that_nobody_has_looked_up_allows_nothing() -> None:
    """PLG-12: a name alone judges nothing."""
    assert "The 'judge' policy does not allow 'linger.ms'" in refused(worker("judge"), "linger.ms")


def test_properties_for_a_policy_that_needs_no_plugin_are_refused() -> None:
    """PLG-12: a property without effect is worse than none."""
    with pytest.raises(ConfigError, match=r"policy.limit is for a policy of a plugin, and connector.client.config"):
        worker("All", policy_limit="7")
