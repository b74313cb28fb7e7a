"""The calls by which the REST interfaces of Kafka Connect and of a worker of ours are compared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

JAVA = "org.apache.kafka.connect.file.FileStreamSourceConnector"
JSON = "application/json"
FILE = "{folder}/lines.txt"
"""A file with three lines; whoever sends the calls puts the folder in."""


@dataclass(frozen=True)
class Call:
    """A request; `until` repeats it until that text is in the answer, which is not compared but for its end."""

    method: str
    path: str
    body: str | None = None
    content_type: str | None = JSON
    until: str = ""
    gone: bool = False
    """Repeat until the answer is 404."""

    @property
    def name(self) -> str:
        if self.body is None:
            return f"{self.method} {self.path}"
        kind = "" if self.content_type == JSON else f" as {self.content_type}"
        return f"{self.method} {self.path} {self.body.replace(JAVA, 'JAVA')}{kind}"


def config(name: str | None = None, **changes: str | None) -> dict[str, Any]:
    """Properties of the connector that the calls create."""
    wanted: dict[str, str | None] = {"connector.class": JAVA, "tasks.max": "1", "file": FILE, "topic": "rest-lines"}
    if name is not None:
        wanted["name"] = name
    return wanted | {key.replace("_", "."): value for key, value in changes.items()}


def put(method: str, path: str, body: object) -> Call:
    return Call(method, path, json.dumps(body))


def state(name: str, wanted: str, tasks: int = 1) -> Call:
    """Wait until the connector and its tasks have this state."""
    shown = "|".join([wanted] * (tasks + 1))
    return Call("GET", f"/connectors/{name}/status", until=shown)


def _worker() -> Iterator[Call]:
    yield Call("GET", "/")
    yield Call("GET", "/health")
    yield Call("GET", "/health/")
    yield Call("HEAD", "/")
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        yield Call(method, "/", "{}")
    yield Call("GET", "/nowhere")
    yield Call("POST", "/nowhere", "{}")
    yield Call("GET", "//connectors")
    yield Call("GET", "/Connectors")
    yield Call("GET", "/connectors;x")
    yield Call("GET", "/connectors/..%2f")
    yield Call("OPTIONS", "/connectors")
    yield Call("TRACE", "/connectors")
    yield Call("GET", "/openapi.yaml")


def _create() -> Iterator[Call]:
    yield Call("GET", "/connectors")
    yield Call("GET", "/connectors/")
    yield Call("GET", "/connectors?expand=status")
    yield Call("GET", "/connectors?expand=nothing")
    yield Call("HEAD", "/connectors")
    for method in ("PUT", "DELETE", "PATCH"):
        yield Call(method, "/connectors", "{}")
    for body in (
        "",
        "{",
        "[]",
        "null",
        '"x"',
        "1",
        "{}",
        '{"a": 1}',
        '{"name": "c1"}',
        '{"config": {}}',
        '{"name": "c1", "config": {}}',
        '{"name": "c1", "config": []}',
        '{"name": "c1", "config": null}',
        '{"name": 7, "config": {}}',
        '{"name": ["c1"], "config": {}}',
        '{"name": "c1", "config": {"tasks.max": "1"}}',
        '{"name": "c1", "config": {"connector.class": "no.such.Class"}}',
        '{"name": "c1", "config": {"connector.class": 5}}',
        '{"name": "c1", "config": {"connector.class": {"a": 1}}}',
        '{"name": "c1", "config": {"connector.class": null}}',
        '{"name": "c1", "config": {}} trailing',
        '{"name": "c1", "name": "c2", "config": {}}',
        "{'name': 'c1'}",
    ):
        yield Call("POST", "/connectors", body)
    yield Call("POST", "/connectors", '{"name": "c1", "config": {}}', content_type="text/plain")
    yield Call("POST", "/connectors", '{"name": "c1", "config": {}}', content_type=None)
    yield Call("POST", "/connectors", '{"name": "c1", "config": {}}', content_type="application/json; charset=utf-8")
    yield put("POST", "/connectors", {"name": "c1", "config": config("other")})
    yield put("POST", "/connectors", {"name": "c1", "config": config(topic=None)})
    yield put("POST", "/connectors", {"name": "c1", "config": config(tasks_max="0")})
    yield put("POST", "/connectors", {"name": "c1", "config": config(tasks_max="many")})
    yield put("POST", "/connectors", {"name": "c1", "config": config(), "initial_state": "RUNNIN"})
    yield put("POST", "/connectors", {"name": "c1", "config": config(), "initial_state": "FAILED"})
    yield put("POST", "/connectors", {"name": "c1", "config": config(), "initial_state": 5})
    yield put("POST", "/connectors", {"name": "c1", "config": config(), "unknown_field": 5})
    yield put("POST", "/connectors", {"name": "", "config": config()})
    yield put("POST", "/connectors", {"name": " c1 ", "config": config()})
    yield Call("GET", "/connectors/c1")
    yield Call("DELETE", "/connectors/c1", gone=True)
    yield put("POST", "/connectors?forward=false", {"name": "c1", "config": config()})
    yield put("POST", "/connectors", {"name": "c1", "config": config()})
    yield state("c1", "RUNNING")


def _read() -> Iterator[Call]:
    yield Call("GET", "/connectors")
    for query in ("expand=status", "expand=info", "expand=status&expand=info", "expand=nothing", "expand=", "x=1"):
        yield Call("GET", f"/connectors?{query}")
    for name in ("c1", "nope", "c1/", "%63%31"):
        yield Call("GET", f"/connectors/{name}")
        yield Call("GET", f"/connectors/{name}/config")
        yield Call("GET", f"/connectors/{name}/status")
        yield Call("GET", f"/connectors/{name}/tasks")
        yield Call("GET", f"/connectors/{name}/tasks-config")
        yield Call("GET", f"/connectors/{name}/topics")
        yield Call("GET", f"/connectors/{name}/offsets")
    for task in ("0", "9", "-1", "x", "99999999999", "00"):
        yield Call("GET", f"/connectors/c1/tasks/{task}/status")
    yield Call("GET", "/connectors/nope/tasks/0/status")
    yield Call("GET", "/connectors/c1/tasks/0")
    yield Call("GET", "/connectors/c1/nowhere")
    yield Call("POST", "/connectors/c1", "{}")
    yield Call("PUT", "/connectors/c1", "{}")
    yield Call("PATCH", "/connectors/c1/status", "{}")
    yield Call("POST", "/connectors/c1/config", "{}")
    yield Call("DELETE", "/connectors/c1/tasks")


def _configure() -> Iterator[Call]:
    yield put("PUT", "/connectors/c1/config", config(batch_size="10"))
    yield Call("GET", "/connectors/c1/config")
    yield put("PUT", "/connectors/c1/config", config("other"))
    yield put("PUT", "/connectors/c1/config", config("c1", batch_size="11"))
    yield put("PUT", "/connectors/c1/config", config(batch_size="many"))
    yield put("PUT", "/connectors/c1/config", config(batch_size=None))
    for body in ("", "{", "[]", "null", "{}", '{"a": [1]}', '{"a": {"b": 1}}'):
        yield Call("PUT", "/connectors/c1/config", body)
    yield put("PUT", "/connectors/c1/config", config() | {"tasks.max": 1})
    yield put("PUT", "/connectors/c1/config", config() | {"x": True})
    yield Call("GET", "/connectors/c1/config")
    yield put("PUT", "/connectors/c1/config", config())
    yield put("PUT", "/connectors/c2/config", config(topic="rest-lines-2"))
    yield state("c2", "RUNNING")
    yield put("PATCH", "/connectors/c1/config", {"batch.size": "12"})
    yield put("PATCH", "/connectors/c1/config", {"batch.size": None})
    yield put("PATCH", "/connectors/c1/config", {"topic": None})
    yield put("PATCH", "/connectors/c1/config", {"name": "other"})
    yield put("PATCH", "/connectors/c1/config", {})
    yield Call("PATCH", "/connectors/c1/config", "[]")
    yield Call("PATCH", "/connectors/c1/config", "")
    yield Call("PATCH", "/connectors/c1/config", "{")
    yield put("PATCH", "/connectors/nope/config", {"batch.size": "12"})
    yield Call("GET", "/connectors/c1/config")
    yield state("c1", "RUNNING")


def _initial_state() -> Iterator[Call]:
    yield put("POST", "/connectors", {"name": "stopped", "config": config(), "initial_state": "STOPPED"})
    yield state("stopped", "STOPPED", tasks=0)
    yield Call("GET", "/connectors/stopped/status")
    yield Call("GET", "/connectors/stopped/tasks")
    yield put("POST", "/connectors", {"name": "paused", "config": config(), "initial_state": "paused"})
    yield state("paused", "PAUSED", tasks=0)
    yield Call("GET", "/connectors/paused/status")
    yield put("POST", "/connectors", {"name": "running", "config": config(), "initial_state": "RUNNING"})
    yield put("POST", "/connectors", {"name": "c1", "config": config(), "initial_state": "STOPPED"})
    for name in ("stopped", "paused", "running"):
        yield Call("DELETE", f"/connectors/{name}")
        yield Call("DELETE", f"/connectors/{name}", gone=True)


def _control() -> Iterator[Call]:
    for verb in ("pause", "resume", "stop"):
        yield Call("PUT", f"/connectors/nope/{verb}")
        yield Call("POST", f"/connectors/c1/{verb}")
        yield Call("GET", f"/connectors/c1/{verb}")
    yield Call("PUT", "/connectors/c1/pause")
    yield state("c1", "PAUSED")
    yield Call("PUT", "/connectors/c1/pause")
    yield Call("PUT", "/connectors/c1/resume", "{}")
    yield state("c1", "RUNNING")
    yield Call("PUT", "/connectors/c1/resume", "text", content_type="text/plain")
    yield Call("POST", "/connectors/c1/restart")
    yield Call("POST", "/connectors/nope/restart")
    yield Call("GET", "/connectors/c1/restart")
    yield state("c1", "RUNNING")
    for query in ("includeTasks=true", "onlyFailed=true", "includeTasks=true&onlyFailed=true", "includeTasks=maybe",
                  "onlyFailed=", "includeTasks", "forward=false", "forward=maybe"):  # fmt: skip
        yield Call("POST", f"/connectors/c1/restart?{query}")
        yield state("c1", "RUNNING")
    yield Call("POST", "/connectors/nope/restart?includeTasks=true")
    yield Call("POST", "/connectors/c1/tasks/0/restart")
    yield state("c1", "RUNNING")
    for task in ("9", "-1", "x"):
        yield Call("POST", f"/connectors/c1/tasks/{task}/restart")
    yield Call("POST", "/connectors/nope/tasks/0/restart")
    yield Call("GET", "/connectors/c1/tasks/0/restart")


def _topics() -> Iterator[Call]:
    yield Call("GET", "/connectors/c1/topics", until="rest-lines")
    yield Call("GET", "/connectors/c1/topics")
    yield Call("PUT", "/connectors/c1/topics/reset")
    yield Call("PUT", "/connectors/nope/topics/reset")
    yield Call("GET", "/connectors/nope/topics")
    yield Call("DELETE", "/connectors/c1/topics")
    yield Call("GET", "/connectors/c1/topics/reset")


def _offsets() -> Iterator[Call]:
    partition = {"filename": FILE}
    some = {"offsets": [{"partition": partition, "offset": {"position": 4}}]}
    yield Call("GET", "/connectors/c1/offsets", until="position")
    yield Call("GET", "/connectors/c1/offsets")
    yield put("PATCH", "/connectors/c1/offsets", some)
    yield Call("DELETE", "/connectors/c1/offsets")
    yield put("PATCH", "/connectors/nope/offsets", some)
    yield Call("DELETE", "/connectors/nope/offsets")
    yield Call("POST", "/connectors/c1/offsets", "{}")
    yield Call("PUT", "/connectors/c1/pause")
    yield state("c1", "PAUSED")
    yield put("PATCH", "/connectors/c1/offsets", some)
    yield Call("DELETE", "/connectors/c1/offsets")
    yield Call("PUT", "/connectors/c1/stop")
    yield state("c1", "STOPPED", tasks=0)
    yield Call("GET", "/connectors/c1/tasks")
    yield Call("GET", "/connectors/c1/tasks/0/status")
    yield Call("POST", "/connectors/c1/tasks/0/restart")
    yield Call("POST", "/connectors/c1/restart")
    yield Call("POST", "/connectors/c1/restart?includeTasks=true")
    for body in (
        "",
        "{",
        "null",
        "{}",
        "[]",
        '{"offsets": null}',
        '{"offsets": []}',
        '{"offsets": {}}',
        '{"offsets": [null]}',
        '{"offsets": [{}]}',
        '{"offsets": [{"partition": {"filename": "x"}}]}',
        '{"offsets": [{"offset": {"position": 1}}]}',
        '{"offsets": [{"partition": null, "offset": null}]}',
        '{"offsets": [{"partition": {"a": "b"}, "offset": {"position": 1}}]}',
        '{"offsets": [{"partition": 1, "offset": {"position": 1}}]}',
        '{"unknown": []}',
    ):
        yield Call("PATCH", "/connectors/c1/offsets", body)
    yield put("PATCH", "/connectors/c1/offsets", {"offsets": [{"partition": partition, "offset": {"position": "x"}}]})
    yield put("PATCH", "/connectors/c1/offsets", {"offsets": [{"partition": partition, "offset": {"position": -4}}]})
    yield put("PATCH", "/connectors/c1/offsets", {"offsets": [{"partition": partition, "offset": {"other": 4}}]})
    two = {"partition": partition, "offset": {"position": 4}}
    yield put("PATCH", "/connectors/c1/offsets", {"offsets": [two, two | {"offset": None}]})
    yield put("PATCH", "/connectors/c1/offsets", some)
    yield Call("GET", "/connectors/c1/offsets")
    yield Call("DELETE", "/connectors/c1/offsets")
    yield Call("GET", "/connectors/c1/offsets")
    yield Call("DELETE", "/connectors/c1/offsets")
    yield Call("PUT", "/connectors/c1/resume")
    yield state("c1", "RUNNING")


def _plugins() -> Iterator[Call]:
    yield Call("GET", "/connector-plugins")
    yield Call("GET", "/connector-plugins/")
    yield Call("GET", "/connector-plugins?connectorsOnly=false")
    yield Call("GET", "/connector-plugins?connectorsOnly=maybe")
    yield Call("GET", f"/connector-plugins/{JAVA}/config")
    yield Call("GET", "/connector-plugins/no.such.Class/config")
    yield Call("GET", f"/connector-plugins/{JAVA}")
    path = f"/connector-plugins/{JAVA}/config/validate"
    yield put("PUT", path, config("c1"))
    yield put("PUT", path, config())
    yield put("PUT", path, {"connector.class": JAVA})
    yield put("PUT", path, {"connector.class": "no.such.Class"})
    yield put("PUT", path, {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector"})
    yield put("PUT", path, {})
    yield put("PUT", path, config("c1", tasks_max="many"))
    yield put("PUT", path, config("c1") | {"tasks.max": None})
    yield Call("PUT", path, "")
    yield Call("PUT", path, "{")
    yield Call("PUT", path, "[]")
    yield Call("GET", path)
    yield put("PUT", "/connector-plugins/no.such.Class/config/validate", {"connector.class": "no.such.Class"})
    short = {"connector.class": "FileStreamSource"}
    yield put("PUT", "/connector-plugins/FileStreamSource/config/validate", config("c1") | short)


def _loggers() -> Iterator[Call]:
    yield Call("GET", "/admin/loggers")
    yield Call("GET", "/admin/loggers/")
    yield Call("GET", "/admin/loggers/root")
    yield Call("GET", "/admin/loggers/no.such.logger")
    yield put("PUT", "/admin/loggers/a.b", {"level": "DEBUG"})
    yield put("PUT", "/admin/loggers/a.b", {"level": "warn"})
    yield Call("GET", "/admin/loggers/a.b")
    yield put("PUT", "/admin/loggers/a.b?scope=worker", {"level": "INFO"})
    yield put("PUT", "/admin/loggers/a.b?scope=cluster", {"level": "INFO"})
    yield put("PUT", "/admin/loggers/a.b?scope=CLUSTER", {"level": "INFO"})
    yield put("PUT", "/admin/loggers/a.b?scope=planet", {"level": "INFO"})
    yield put("PUT", "/admin/loggers/a.b?scope=", {"level": "INFO"})
    yield put("PUT", "/admin/loggers/a.b", {"level": "LOUD"})
    yield put("PUT", "/admin/loggers/a.b?scope=cluster", {"level": "LOUD"})
    yield put("PUT", "/admin/loggers/a.b", {"level": 5})
    yield put("PUT", "/admin/loggers/a.b", {"level": None})
    yield put("PUT", "/admin/loggers/a.b", {})
    yield Call("PUT", "/admin/loggers/a.b", "")
    yield Call("PUT", "/admin/loggers/a.b", "{")
    yield Call("PUT", "/admin/loggers/a.b", "[]")
    yield Call("POST", "/admin/loggers/a.b", "{}")
    yield Call("DELETE", "/admin/loggers/a.b")
    yield Call("GET", "/admin")


def _internal() -> Iterator[Call]:
    yield Call("PUT", "/connectors/c1/fence")
    yield Call("PUT", "/connectors/nope/fence")
    yield Call("PUT", "/connectors/c1/fence?forward=false")
    yield Call("GET", "/connectors/c1/fence")
    yield Call("POST", "/connectors/c1/tasks", "[]")
    yield Call("POST", "/connectors/c1/tasks", '[{"a": "b"}]')
    yield Call("POST", "/connectors/c1/tasks", "{")
    yield Call("POST", "/connectors/c1/tasks", "{}")
    yield Call("POST", "/connectors/nope/tasks", "[]")
    yield Call("PUT", "/connectors/c1/tasks", "[]")


def _delete() -> Iterator[Call]:
    yield Call("DELETE", "/connectors/nope")
    yield Call("DELETE", "/connectors/c1?forward=false")
    yield Call("DELETE", "/connectors/c1", gone=True)
    yield Call("GET", "/connectors/c1/offsets")
    yield Call("DELETE", "/connectors/c1/offsets")
    yield Call("DELETE", "/connectors/c2")
    yield Call("DELETE", "/connectors/c2", gone=True)
    yield Call("GET", "/connectors")


def calls() -> list[Call]:
    """All of them, in order: each finds what those before it left."""
    parts = (_worker, _plugins, _loggers, _create, _read, _configure, _initial_state, _control, _topics, _offsets,
             _internal, _delete)  # fmt: skip
    return [call for part in parts for call in part()]
