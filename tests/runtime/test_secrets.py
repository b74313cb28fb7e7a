"""What config providers give reaches a task, and no text that anybody sees."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from eosfw.builtin.config_providers import EnvVarConfigProvider
from eosfw.config import Config, ConfigDef, Int, Password, String
from eosfw.connectors import SourceConnector, SourceTask
from eosfw.errors import ConfigError, RetriableError
from eosfw.runtime.group.protocols import Assignment
from eosfw.runtime.status import TaskState

from .fake_cluster import FakeCluster
from .worker_harness import WorkerHarness

CANARY = "canary-s3cret"
PROVIDERS = {
    "config.providers": "env",
    "config.providers.env.class": "EnvVarConfigProvider",
    "config.providers.env.param.allowlist.pattern": "DB_.*",
}


class OddError(Exception):
    """Its text is none of its arguments."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self.secret = secret

    def __str__(self) -> str:
        return f"odd: {self.secret}"


def log(who: str, password: str) -> None:
    """Log a secret as an argument, in the text, and in a trace."""
    logger = logging.getLogger("leaky.driver")
    logger.warning("%s logs in with %s", who, password)
    logger.info(f"{who} connects to db://{password}@h")  # noqa: G004 (an author may write it so)
    try:
        {}[password]
    except KeyError:
        logger.exception("%s caught", who)


class LeakyTask(SourceTask):
    """Shows its password wherever it can."""

    def start(self, config: Config, context: Any) -> None:
        self.config, self.polls = config, 0
        type(self).passwords.append((config["password"], config["url"]))  # type: ignore[attr-defined]
        if config["leak"] == "start":
            self._fail()

    def poll(self) -> None:
        self.polls += 1
        if self.config["leak"] == "poll":
            raise RetriableError(f"poll with {self.config['password']}", retry_after=0)
        if self.config["leak"] == "odd":
            raise OddError(self.config["password"])
        if self.config["leak"] == "log" and self.polls == 1:
            log("a task", self.config["password"])
            thread = threading.Thread(target=log, args=("a thread of a task", self.config["password"]))
            thread.start()
            thread.join()

    def at_end(self) -> bool:
        return True

    def commit(self) -> None:
        if self.config["leak"] == "commit":
            self._fail()

    def stop(self) -> None:
        if self.config["leak"] == "stop":
            self._fail()

    def _fail(self) -> None:
        raise ValueError(f"login with {self.config['password']} failed") from KeyError(self.config["password"])


class LeakyConnector(SourceConnector):
    name = "leaky"
    config = ConfigDef(
        String("topic", "t"), Password("password"), String("leak", "nowhere"), Int("port", 1), String("odd", "")
    )

    def __init__(self) -> None:
        self.task = type("Task", (LeakyTask,), {"passwords": []})  # type: ignore[misc]

    def problems(self, config: Config) -> Iterable[str]:
        if config["leak"] == "problems":
            return [f"no database takes {config['password']}"]
        if config["leak"] == "check":
            raise ValueError(f"check with {config['password']}")
        if config["leak"] == "checked":
            log("a check", config["password"])
        return []

    def alter_offsets(self, config: Config, offsets: Any) -> bool:
        raise ValueError(f"{config['leak']}: no offset with {config['password']}")

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        if config["leak"] == "split":
            raise ValueError(f"split with {config['password']}")
        share = {"password": config["password"], "leak": config["leak"], "url": f"db://me:{config['password']}@h"}
        if config["leak"] == "many":
            return [share] * (max_tasks + 1)
        return [share]


class LeakyConverter:
    """Fails while it is configured, or closed, with its password in the text."""

    name = "leaky-converter"
    config = ConfigDef(Password("pin"), String("leak", "configure"))

    def configure(self, config: Config) -> None:
        self.pin = config["pin"]
        if config["leak"] == "configure":
            raise ValueError(f"login with {self.pin}")

    def from_connect_data(self, topic: str, schema: Any, value: Any) -> bytes:
        raise NotImplementedError

    def close(self) -> None:
        raise ValueError(f"logout with {self.pin}")


CONVERTER = {"value.converter": "leaky-converter", "value.converter.pin": "${env:DB_PASSWORD}"}
PLAIN_CONVERTER = {**CONVERTER, "value.converter.pin": CANARY}


def everything(stage: WorkerHarness, caplog: pytest.LogCaptureFixture) -> str:
    """Every text that a user, an observer or another worker may see."""
    topic = [entry.value for log in stage.cluster.logs.values() for entry in log]
    return "\n".join([*map(str, topic), visible(stage, caplog)])


def visible(stage: WorkerHarness, caplog: pytest.LogCaptureFixture) -> str:
    """The same without the topics of the cluster."""
    status = stage.worker.status()
    traces = [task.trace for task in status.tasks]
    return "\n".join(map(str, [status, *stage.events, *traces, caplog.text, *map(vars, caplog.records)]))


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("DB_PASSWORD", CANARY)
    caplog.set_level(logging.DEBUG)


@pytest.fixture
def connector() -> LeakyConnector:
    return LeakyConnector()


@pytest.fixture
def stage(connector: LeakyConnector) -> WorkerHarness:
    return WorkerHarness(connector, FakeCluster(), parts=(LeakyConverter,), **PROVIDERS)


LEAKS = {
    "nowhere": "",
    "start": "login with [hidden] failed",
    "poll": "poll with [hidden]",
    "odd": "odd: [hidden]",
    "commit": "login with [hidden] failed",
    "stop": "login with [hidden] failed",
    "log": "a thread of a task logs in with [hidden]",
    "checked": "a check logs in with [hidden]",
}
"""What is seen of a secret by where a task shows it."""
LINE_ENDS = {"start": "\n", "log": " \r\n"}
"""Behind the secret, as in a variable that a file was read into."""


@pytest.mark.parametrize("password", ["${env:DB_PASSWORD}", CANARY], ids=["provided", "plain"])
@pytest.mark.parametrize("leak", LEAKS)
def test_a_secret_reaches_its_task_and_no_text(
    stage: WorkerHarness,
    connector: LeakyConnector,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    leak: str,
    password: str,
) -> None:
    """PLG-30: logs, status, traces, steps, also behind a line end: CVE-2019-12399, and its kin.

    The config topic has the reference; of a password that stands in a configuration it has that, as in Kafka Connect.
    """
    provided, seen = password != CANARY, LEAKS[leak]
    monkeypatch.setenv("DB_PASSWORD", CANARY + LINE_ENDS.get(leak, ""))
    with stage:
        stage.put(password=password, leak=leak)
        if leak in ("start", "odd"):
            assert stage.until_ended()[0].state is TaskState.FAILED
        else:
            stage.until(lambda: bool(connector.task.passwords))  # type: ignore[attr-defined]
            stage.until(lambda: leak != "poll" or bool(stage.worker.status().poll_failures))
            stage.until(lambda: leak not in ("commit", "log") or seen in caplog.text)

    shown = everything(stage, caplog) if provided else visible(stage, caplog)

    assert connector.task.passwords[0] == (CANARY, f"db://me:{CANARY}@h")  # type: ignore[attr-defined]
    assert CANARY not in shown
    assert seen in shown
    assert not provided or "db://me:${env:DB_PASSWORD}@h" in shown


@pytest.mark.parametrize("secret", ["one", 'quote\'d "and" \\ slash'])
def test_a_short_password_is_left_and_an_escaped_one_is_hidden(
    stage: WorkerHarness, caplog: pytest.LogCaptureFixture, secret: str
) -> None:
    """Replaced everywhere, a value such as `one` would make every text unreadable."""
    with stage:
        stage.put(password=secret, leak="log")
        stage.until(lambda: "a thread of a task caught" in caplog.text)

    assert ("[hidden]" in caplog.text) is (len(secret) > 3)
    assert len(secret) == 3 or "slash" not in caplog.text


def test_a_worker_that_has_stopped_filters_no_logs(stage: WorkerHarness, caplog: pytest.LogCaptureFixture) -> None:
    with stage:
        stage.put(password=CANARY)

    logging.getLogger("another").warning("%s", CANARY)

    assert CANARY in caplog.text


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"leak": "problems"}, "no database takes [hidden]"),
        ({"leak": "check"}, "check with [hidden]"),
        ({"leak": "split"}, "split with [hidden]"),
        ({"leak": "many"}, "has generated 2 tasks"),
        ({"port": "${env:DB_PASSWORD}"}, "Invalid value [hidden] for configuration port"),
        ({"transaction.boundary": "${env:DB_PASSWORD}"}, "Invalid value [hidden] for configuration transaction"),
        ({"topic": "${env:DB_PASSWORD}/"}, "topic=[hidden]/ cannot name a topic"),
        ({"producer.override.acks": "${env:DB_PASSWORD}"}, "producer.override.acks=[hidden]"),
        (CONVERTER, "value.converter: it failed when it was configured: ValueError: login with [hidden]"),
        (PLAIN_CONVERTER, "value.converter: it failed when it was configured: ValueError: login with [hidden]"),
        ({"odd": "${env:HOME}"}, "odd: config provider 'env': its param.allowlist.pattern does not allow 'HOME'"),
    ],
)
@pytest.mark.parametrize("password", ["${env:DB_PASSWORD}", CANARY], ids=["provided", "plain"])
def test_a_refusal_shows_no_secret(
    stage: WorkerHarness, caplog: pytest.LogCaptureFixture, properties: dict[str, str], message: str, password: str
) -> None:
    with stage, pytest.raises(ConfigError) as refused:
        stage.put(**{"password": password, **properties})

    assert message in str(refused.value)
    assert CANARY not in str(refused.value)
    assert refused.value.__cause__ is None
    assert CANARY not in everything(stage, caplog)


@pytest.mark.parametrize("properties", [CONVERTER, PLAIN_CONVERTER], ids=["provided", "plain"])
def test_a_part_that_cannot_be_closed_is_no_reason_to_refuse_a_connector(
    stage: WorkerHarness, caplog: pytest.LogCaptureFixture, properties: dict[str, str]
) -> None:
    """As in Kafka Connect, which closes quietly what it has made to validate properties."""
    with stage:
        assert stage.put(password="x", **properties, **{"value.converter.leak": "close"}) == 0

    assert "closing LeakyConverter failed: ValueError" in caplog.text
    assert CANARY not in visible(stage, caplog)


def test_a_replaced_override_is_reported_without_its_secret(
    stage: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    """CFG-07."""
    with stage:
        stage.put(password="x", **{"producer.override.transactional.id": "${env:DB_PASSWORD}"})

    assert "transactional.id=[hidden] is replaced by" in caplog.text
    assert CANARY not in everything(stage, caplog)


def test_no_representation_of_a_plan_shows_a_secret(stage: WorkerHarness) -> None:
    with stage:
        stage.put(password="${env:DB_PASSWORD}", **{"producer.override.linger.ms": "${env:DB_PASSWORD}"})
        planner, topic = stage.worker._planner, stage.worker._topic
        task = stage.worker.status().connectors["c"].tasks[0]
        (assigned,) = planner.assigned_tasks(Assignment("c", task.generation, [task.id.task]))
        plan = planner.plan(assigned, topic.entry("c"))
        validated = planner.check("c", topic.entry("c").applied_properties or {})

    assert plan.config["password"] == CANARY
    assert plan.clients.producer["linger.ms"] == CANARY
    assert CANARY not in repr((plan, plan.config, validated, planner, topic.entry("c")))


def test_a_secret_that_changed_is_read_again_by_the_next_start(
    stage: WorkerHarness, connector: LeakyConnector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The config topic holds references alone, so every start looks them up."""
    with stage:
        stage.put(password="${env:DB_PASSWORD}")
        stage.until(lambda: len(connector.task.passwords) == 1)  # type: ignore[attr-defined]
        monkeypatch.setenv("DB_PASSWORD", "changed")
        stage.put(password="${env:DB_PASSWORD}")
        stage.until(lambda: len(connector.task.passwords) == 2)  # type: ignore[attr-defined]

    assert [password for password, _ in connector.task.passwords] == [CANARY, "changed"]  # type: ignore[attr-defined]


def test_a_worker_closes_its_providers(stage: WorkerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[object] = []

    def close(self: EnvVarConfigProvider) -> None:
        closed.append(self)

    monkeypatch.setattr(EnvVarConfigProvider, "close", close)
    with stage:
        stage.put(password="${env:DB_PASSWORD}")
        worker = stage.worker._planner.transformer._transformer._providers["env"]

    assert worker in closed
