"""The marker `eos_cluster` and the option --eos-security: a suite runs on a secured cluster."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.pytest_eos.counter import CounterConnector

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import AuthenticationError, UnsupportedSaslMechanismError
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
    with closing(plain), pytest.raises(UnsupportedSaslMechanismError):
        plain.admin().partitions()
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
    ("argument", "message"),
    [
        ("--eos-bootstrap-servers=127.0.0.1:1", "*leave out --eos-bootstrap-servers=*"),
        ("--eos-clock=virtual", "*security='ssl' is reached through sockets*"),
    ],
)
def test_an_option_that_contradicts_the_marker_is_refused(pytester, argument, message):
    """SEC-28."""
    result = run(pytester, "@pytest.mark.eos_cluster(security='ssl')\ndef test_it(eos): pass", argument)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


@pytest.fixture
def command_config(tmp_path):
    """The properties file of a client of a secured cluster that runs."""
    cluster = installed_plugins().cluster("memory")
    properties = {"listeners": "SASL_SSL://127.0.0.1:0", "eosfw.tls.auto": "true"}
    with closing(cluster.start(properties, ThreadRuntime())) as secured:
        client = {"bootstrap.servers": secured.bootstrap_servers, **secured.client_properties}
        file = tmp_path / "client.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in client.items()))
        yield file


def test_a_suite_runs_on_a_secured_cluster_by_the_properties_file_of_its_client(pytester, command_config):
    """SEC-33: a zombie in a process of its own, too; a test that fails does not show the password."""
    test = """
    @pytest.mark.eos_zombie(at="commit")
    @pytest.mark.eos_backend("memory", "confluent")
    def test_one(eos):
        made = eos.run(CounterConnector, {"streams": 1, "until": 10})
        eos.assert_exactly_once(made, made.source_records())

    def test_process(eos, zombies):
        connector = "tests.pytest_eos.counter:CounterConnector"
        zombies.process(connector, {"topic": "counts"}, at="commit").await_frozen().kill()

    def test_other(eos, eos_cluster):
        assert eos_cluster is None
    """
    result = run(pytester, test, f"--eos-command-config={command_config}", "-vv", "--showlocals")

    result.assert_outcomes(passed=3, failed=1)
    password = command_config.read_text().rpartition('password="')[2].partition('"')[0]
    assert password not in result.stdout.str()


def test_the_file_may_stand_in_the_configuration_beside_it(pytester, command_config):
    """SEC-33: an address on the command line takes precedence over that in the file."""
    command_config.rename(pytester.path / "client.properties")
    pytester.makeini("[pytest]\neos_command_config = client.properties")
    test = """
    def test_it(eos_cluster):
        assert eos_cluster.bootstrap_servers == "127.0.0.1:1"
        assert eos_cluster.client["security.protocol"] == "SASL_SSL"
    """
    run(pytester, test, "--eos-bootstrap-servers=127.0.0.1:1", "--eos-keep").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "*client.properties cannot be read: No such file*"),
        ("a=s3cret\na=s3cret", "*client.properties: line 2 gives 'a' a second time*"),
        ("security.protocol=SSL", "*it has no bootstrap.servers; add it, or --eos-bootstrap-servers*"),
        (
            'sasl.jaas.config=PlainLoginModule required password="s3cret"',
            "*client.properties: Invalid value [[]hidden*",
        ),
        (
            "security.protocol=SSL\nssl.keystore.key=s3cret\nssl.keystore.certificate.chain=none",
            "*client.properties: ssl.keystore.key: no certificate and its key in PEM",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(pytester, text, message):
    """SEC-33: at once, not by each test, whose traceback would show a password or a key."""
    if text is not None:
        (pytester.path / "client.properties").write_text(text)

    result = run(pytester, "def test_it(eos): pass", "--eos-command-config=client.properties")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert "s3cret" not in result.stderr.str()
