"""The marker `eos_cluster` and the option --eos-security: a suite runs on a secured cluster."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.pytest_eos.counter import CounterConnector

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import AuthenticationError, ClusterUnavailableError
from pytest_eos.environment.config.installed_plugins import installed_plugins

from .test_plugin import run

pytest_plugins = ("pytester",)
PROPERTIES = {"streams": 2, "until": 20}


@pytest.mark.eos_cluster(security="sasl_ssl")
@pytest.mark.eos_backend("memory", "confluent")
@pytest.mark.eos_zombie(at="commit")
def test_a_zombie_is_fenced_on_a_secured_cluster(eos, eos_cluster):
    """SEC-28: with a password that no other cluster has."""
    made = eos.run(CounterConnector, PROPERTIES)

    eos.assert_exactly_once(made, made.source_records())
    assert eos_cluster.client["security.protocol"] == "SASL_SSL"


@pytest.mark.eos_cluster(security="ssl")
@pytest.mark.eos_backend("memory", "kafka-python")
def test_a_client_shows_its_certificate_where_it_has_no_password(eos):
    """SEC-28."""
    made = eos.run(CounterConnector, PROPERTIES)

    eos.assert_exactly_once(made, made.source_records())


@pytest.mark.eos_cluster(security="sasl_plaintext")
def test_who_has_no_password_is_not_let_in(eos_cluster):
    """SEC-28: also from the process that serves the cluster."""
    stranger = {"bootstrap.servers": eos_cluster.bootstrap_servers}
    plain = installed_plugins().backend("memory").connect(stranger, ThreadRuntime())
    with closing(plain), pytest.raises(ClusterUnavailableError):
        plain.admin({"default.api.timeout.ms": "300"}).partitions()
    wrong = {**eos_cluster.client, "sasl.jaas.config": eos_cluster.client["sasl.jaas.config"].replace('d="', 'd="x')}
    guessing = installed_plugins().backend("memory").connect(wrong, ThreadRuntime())
    with closing(guessing), pytest.raises(AuthenticationError):
        guessing.admin().partitions()


def test_the_option_secures_each_test_of_a_suite_unless_it_says_otherwise(pytester):
    """SEC-28."""
    test = """
    def test_one(eos_cluster):
        assert eos_cluster.client["security.protocol"] == "SASL_SSL"

    @pytest.mark.eos_cluster(security="plaintext")
    def test_other(eos_cluster):
        assert "security.protocol" not in eos_cluster.client
    """
    run(pytester, test, "--eos-security=sasl_ssl").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("marker", "arguments", "message"),
    [
        ("eos_cluster(security='sasl-ssl')", (), "*no security='sasl-ssl'; did you mean 'sasl_ssl'?*"),
        ("eos_cluster('ssl')", (), "*write @pytest.mark.eos_cluster(security=PROTOCOL)*"),
        (
            "eos_cluster(security='ssl')",
            ("--eos-bootstrap-servers=127.0.0.1:1",),
            "*leave out --eos-bootstrap-servers=*",
        ),
        ("eos_cluster(security='ssl')", ("--eos-clock=virtual",), "*security='ssl' is reached through sockets*"),
    ],
)
def test_a_wrong_marker_is_refused(pytester, marker, arguments, message):
    """SEC-28."""
    result = run(pytester, f"@pytest.mark.{marker}\ndef test_it(eos): pass", *arguments)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])
