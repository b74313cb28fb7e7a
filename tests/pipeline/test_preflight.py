"""A connector's properties are judged before anything starts (CFG-01, CFG-04, CFG-05)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eosfw.config.override_policy import LOCAL_FILE_POLICY
from eosfw.config.worker import WORKER
from eosfw.registry import Plugins
from eosfw.runtime.checks.preflight import connector_problems

LEAST = {"connector.class": "numbers", "topic": "t"}
BACKENDS = ["memory", "confluent", "kafka-python"]
ProblemsOf = Callable[..., str]


@pytest.fixture
def problems_of(plugins: Plugins) -> ProblemsOf:
    def ask(properties: dict[str, str] | None = None, *, worker: str = "enabled", backend: str = "confluent") -> str:
        config = WORKER.parse({"group.id": "g", "exactly.once.source.support": worker, **LOCAL_FILE_POLICY})
        asked = plugins.backend(backend).problems
        problems = connector_problems(plugins, config, "c", LEAST | (properties or {}), asked)
        return "\n".join(str(problem) for problem in problems)

    return ask


def test_good_properties_have_no_problem(problems_of: ProblemsOf) -> None:
    assert problems_of() == ""
    assert problems_of({"exactly.once.support": "required", "transaction.boundary": "interval"}) == ""


def test_a_misspelt_property_hides_no_other_problem(problems_of: ProblemsOf) -> None:
    """Every problem at once."""
    given = {"tasks.mx": "2", "producer.override.acks": "1", "topic": "g-offsets", "exactly.once.support": "required"}
    problems = problems_of(given | {"support": "no"})

    assert "did you mean 'tasks.max'?" in problems
    assert "producer.override.acks=1" in problems
    assert "the worker's own offset.storage.topic" in problems
    assert "the connector says it cannot be exactly once" in problems


def test_a_connector_is_not_asked_about_properties_that_cannot_be_read(problems_of: ProblemsOf) -> None:
    """It would report problems of values that the user did not set."""
    problems = problems_of({"records": "many", "transaction.boundary": "connector"})

    assert "Invalid value many for configuration records" in problems
    assert "the connector" not in problems


@pytest.mark.parametrize("worker", ["disabled", "preparing"])
def test_required_is_refused_by_a_worker_that_is_not_enabled(problems_of: ProblemsOf, worker: str) -> None:
    """CFG-04."""
    problem = problems_of({"exactly.once.support": "REQUIRED"}, worker=worker)

    assert f"exactly.once.support=required, but the worker has exactly.once.source.support={worker}" in problem


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("no", "the connector says it cannot be exactly once"),
        ("unsaid", "consult its documentation; if it is, set exactly.once.support=requested"),
        ("raise", "I would rather not say"),
    ],
)
def test_required_is_refused_for_a_connector_that_does_not_promise_it(
    problems_of: ProblemsOf, answer: str, words: str
) -> None:
    """CFG-04: a raising connector never crashes validation."""
    assert words in problems_of({"exactly.once.support": "required", "support": answer})
    assert problems_of({"exactly.once.support": "requested", "support": answer}) == ""


@pytest.mark.parametrize(
    ("answer", "words"),
    [("no", "use poll or interval"), ("unsaid", "use poll or interval"), ("raise", "rather not say")],
)
def test_connector_boundaries_need_a_connector_that_defines_them(
    problems_of: ProblemsOf, answer: str, words: str
) -> None:
    """CFG-05."""
    problem = problems_of({"transaction.boundary": "connector", "bounds": answer})

    assert "transaction.boundary=connector" in problem
    assert words in problem


def test_a_connector_that_defines_boundaries_may(problems_of: ProblemsOf) -> None:
    """CFG-05."""
    assert problems_of({"transaction.boundary": "connector", "bounds": "yes"}) == ""


def test_a_connectors_own_problems_are_reported_with_their_keys(problems_of: ProblemsOf) -> None:
    assert "topic: is cursed" in problems_of({"topic": "cursed"})
    assert "did you mean 'records'?" in problems_of({"recrods": "1"})


def test_an_unknown_connector_is_reported_with_other_problems(problems_of: ProblemsOf) -> None:
    problem = problems_of({"connector.class": "nmbers", "tasks.max": "0"})

    assert "no connector 'nmbers'" in problem
    assert "did you mean 'numbers'" in problem.lower()
    assert "tasks.max" in problem


def test_a_name_that_differs_from_the_files_is_refused(problems_of: ProblemsOf) -> None:
    assert "name=d differs from the connector's name 'c'" in problems_of({"name": "d"})


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["producer.override.unheard.of", "consumer.override.a", "admin.override.b"])
def test_an_override_that_its_client_does_not_know_is_named_whole(
    problems_of: ProblemsOf, name: str, backend: str
) -> None:
    """CFG-07, CFG-08: the backend's own table is asked before anything starts."""
    problem = problems_of({name: "x"}, backend=backend)

    assert problem.startswith(f"connector c: {name}: the {backend} backend ")


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_override_of_another_kind_of_client_is_refused(problems_of: ProblemsOf, backend: str) -> None:
    """CFG-08: a consumer's property means nothing to a producer."""
    problem = problems_of({"producer.override.fetch.min.bytes": "1"}, backend=backend)

    assert "producer.override.fetch.min.bytes: fetch.min.bytes is no property of a Kafka producer client" in problem


@pytest.mark.parametrize("backend", BACKENDS)
def test_enforced_properties_are_not_validated_by_the_client(problems_of: ProblemsOf, backend: str) -> None:
    """CFG-07: it is replaced with a warning, or refused with the guarantee as the reason."""
    settled = {
        "producer.override.transactional.id": "mine",
        "producer.override.enable.idempotence": "false",
        "producer.override.transaction.timeout.ms": "70000",
        "consumer.override.isolation.level": "read_uncommitted",
    }

    assert problems_of(settled, backend=backend) == ""
    assert problems_of({"producer.override.acks": "1"}, backend=backend).count("acks") == 2


CLIENTS = ("producer", "consumer", "admin")


def servers(**each: str) -> dict[str, str]:
    return {f"{kind}.override.bootstrap.servers": text for kind, text in each.items()}


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_alone_on_another_cluster_is_refused_by_name(problems_of: ProblemsOf, kind: str) -> None:
    """OFF-06: records and their offsets would lie on two clusters, or be fenced on a third."""
    problem = problems_of(servers(**{kind: "127.0.0.1:9092"}))

    assert f"{kind}.override.bootstrap.servers is 127.0.0.1:9092" in problem
    assert "must share a cluster" in problem


def test_clients_of_a_connector_on_different_clusters_are_refused_by_name(problems_of: ProblemsOf) -> None:
    """OFF-06: the one that differs is named with the one it differs from."""
    problem = problems_of(servers(producer="a:1,b:2", consumer="b:2,a:1", admin="a:1"))

    assert "admin.override.bootstrap.servers is a:1, producer.override.bootstrap.servers is a:1,b:2" in problem
    assert "consumer.override.bootstrap.servers" not in problem


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_connector_may_name_another_cluster_for_all_its_clients(problems_of: ProblemsOf, backend: str) -> None:
    """OFF-06, OFF-07: in any order of the addresses."""
    assert problems_of(servers(producer="a:1,b:2", consumer="b:2,a:1", admin="a:1, b:2"), backend=backend) == ""


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        ("..", "a topic cannot be called '.' or '..'"),
        ("x" * 300, "must be at most 249 characters long, not 300"),
        ("", "must be non-empty"),
        ("a/b", "may only hold letters"),
        ("g-configs", "offsets.storage.topic=g-configs is the worker's own config.storage.topic"),
        ("g-status", "offsets.storage.topic=g-status is the worker's own status.storage.topic"),
        ("g-members", "offsets.storage.topic=g-members is the topic by which the worker group finds its members"),
        ("t", "offsets.storage.topic=t is the topic that the connector writes records to"),
        ("__transaction_state", "offsets.storage.topic=__transaction_state is a topic of the cluster's own"),
    ],
)
def test_an_unusable_offsets_topic_is_refused_by_name(problems_of: ProblemsOf, topic: str, message: str) -> None:
    """CFG-03, TXN-15."""
    assert message in problems_of({"offsets.storage.topic": topic})


@pytest.mark.parametrize("topic", ["g-offsets", "c-offsets"])
def test_a_connector_may_name_an_offsets_topic(problems_of: ProblemsOf, topic: str) -> None:
    """CFG-03: that of the worker, too."""
    assert problems_of({"offsets.storage.topic": topic}) == ""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_value_refused_by_a_client_is_named_with_its_full_key(problems_of: ProblemsOf, backend: str) -> None:
    """CFG-08: it would fail the new tasks once the old ones are gone."""
    problem = problems_of(
        {"producer.override.max.request.size": "large", "producer.override.linger.ms": "5"}, backend=backend
    )

    assert problem.startswith("connector c: producer.override.max.request.size: ")
    assert "linger" not in problem


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        ("two words", "topic=two words cannot name a topic: may only hold letters"),
        ("orders/2026", "topic=orders/2026 cannot name a topic: may only hold letters"),
        ("..", "topic=.. cannot name a topic: a topic cannot be called"),
        ("t" * 250, "must be at most 249 characters long, not 250"),
        ("__consumer_offsets", "topic=__consumer_offsets is a topic of the cluster's own"),
        ("__transaction_state", "is a topic of the cluster's own"),
        ("g-configs", "topic=g-configs is the worker's own"),
        ("g-offsets", "topic=g-offsets is the worker's own"),
        ("g-status", "topic=g-status is the worker's own"),
    ],
)
def test_a_topic_that_a_connector_cannot_write_to_is_refused(problems_of: ProblemsOf, topic: str, why: str) -> None:
    """TXN-15."""
    assert why in problems_of({"topic": topic})


@pytest.mark.parametrize("topic", ["t" * 249, "a.b_c-D9", "...", "__mine"])
def test_a_legal_topic_has_no_problem(problems_of: ProblemsOf, topic: str) -> None:
    assert problems_of({"topic": topic}) == ""


@pytest.mark.parametrize("backend", ["memory", "confluent", "kafka-python"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("producer.override.plugin.library.paths", "/tmp/canary.so"),
        ("consumer.override.error_cb", "canary.system"),
        ("admin.override.sasl.kerberos.kinit.cmd", "canary --now"),
        ("producer.override.sasl.oauthbearer.token.endpoint.url", "http://169.254.169.254/canary"),
    ],
)
def test_an_override_that_no_policy_allows_is_named_without_its_value(
    problems_of: ProblemsOf, name: str, value: str, backend: str
) -> None:
    problem = problems_of({name: value}, backend=backend)

    assert problem.startswith(f"connector c: {name}: ")
    assert "no policy allows it" in problem
    assert "canary" not in problem
    assert len(problem.splitlines()) == 1


@pytest.mark.parametrize("returned", [None, "must be even"])
def test_a_connector_that_returns_no_list_of_problems_is_refused_with_what_to_return(
    problems_of: ProblemsOf, plugins: Plugins, monkeypatch: pytest.MonkeyPatch, returned: object
) -> None:
    """CFG-04: one sentence that names the method, not a letter of a text for each problem."""
    monkeypatch.setattr(type(plugins.connector("numbers")), "problems", lambda *_: returned)

    assert problems_of() == (
        f"connector c: the connector failed when it checked its properties: `problems` returned a "
        f"{type(returned).__name__}; it must return a list of eosfw.errors.Problem, empty where there is none"
    )
