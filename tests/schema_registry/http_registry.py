"""A schema registry on 127.0.0.1, as far as serializers and deserializers ask it."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote


class SchemaRegistry:
    """Schemas by subject; each id is the place of a schema among all, from 1."""

    def __init__(self) -> None:
        self.subjects: dict[str, list[int]] = {}
        self.schemas: list[str] = []
        self.kinds: dict[int, str] = {}
        """Of the ids that are not of Avro: JSON, PROTOBUF."""
        self.references: dict[int, Any] = {}
        """Of the ids that refer to other schemas."""
        self.compatible = True
        """Whether schemas are compatible with the latest of their subjects."""
        self.failures: list[int] = []
        """Status codes to answer with before anything else."""
        self.serializes = True
        """Whether it gives descriptors of Protobuf where it is asked for them."""
        self.requests: list[str] = []
        self.authorization: str | None = None
        self.url = ""

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """The status and the body for a request."""
        self.requests.append(f"{method} {path.partition('?')[0]}")
        if self.failures:
            return self.failures.pop(0), {"error_code": 50001, "message": "busy"}
        parts = [unquote(part) for part in path.partition("?")[0].strip("/").split("/")]
        status, found = (self._asked(parts) if method == "GET" else self._told(parts, body)) or (404, _NOWHERE)
        if self.serializes and "format=serialized" in path and found.get("schemaType") == "PROTOBUF":
            found = {**found, "schema": _serialized(found["schema"])}
        return status, found

    def _told(self, parts: list[str], body: Any) -> tuple[int, Any] | None:
        match parts:
            case ["subjects", subject, "versions"]:
                number = self.add(subject, body["schema"], body.get("schemaType", "AVRO"))
                if references := body.get("references"):
                    self.references[number] = references
                return 200, {"id": number}
            case ["subjects", subject]:
                found = [one for one in self.subjects.get(subject, ()) if self.schemas[one - 1] == body["schema"]]
                return (200, self._version(subject, found[0])) if found else (404, _MISSING)
            case ["compatibility", "subjects", _, "versions", "latest"]:
                return 200, {"is_compatible": self.compatible}
        return None

    def _asked(self, parts: list[str]) -> tuple[int, Any] | None:
        match parts:
            case ["subjects", subject, "versions", version]:
                found = self.subjects.get(subject, [])
                at = len(found) if version == "latest" else int(version)
                return (200, self._version(subject, found[at - 1])) if 0 < at <= len(found) else (404, _MISSING)
            case ["schemas", "ids", number]:
                known = number.isdecimal() and 0 < int(number) <= len(self.schemas)
                return (200, self._schema(int(number))) if known else (404, _MISSING)
        return None

    def add(self, subject: str, schema: Any, kind: str = "AVRO") -> int:
        """Register a schema, and say its id."""
        number = self._register(subject, schema if isinstance(schema, str) else json.dumps(schema))
        if kind != "AVRO":
            self.kinds[number] = kind
        return number

    def _register(self, subject: str, schema: str) -> int:
        if schema not in self.schemas:
            self.schemas.append(schema)
        number = self.schemas.index(schema) + 1
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def _version(self, subject: str, number: int) -> dict[str, Any]:
        version = self.subjects[subject].index(number) + 1
        return {"subject": subject, "version": version, "id": number, **self._schema(number)}

    def _schema(self, number: int) -> dict[str, Any]:
        kind = {"schemaType": self.kinds[number]} if number in self.kinds else {}
        references = {"references": self.references[number]} if number in self.references else {}
        return {"schema": self.schemas[number - 1], **kind, **references}


def _serialized(text: str) -> str:
    """The descriptor of a .proto file, as Confluent's registry gives it."""
    from eosfw_schema_registry.protobuf.stored_files import stored_file

    return text if "{" not in text else base64.b64encode(stored_file(text).serialized_pb).decode()


_NOWHERE = {"error_code": 404, "message": "HTTP 404 Not Found"}
_MISSING = {"error_code": 40403, "message": "Schema not found"}


@contextmanager
def served_registry() -> Iterator[SchemaRegistry]:
    """Serve a new registry."""
    registry = SchemaRegistry()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            registry.authorization = self.headers.get("Authorization")
            status, answer = registry.answer(self.command, self.path, json.loads(body) if body else None)
            sent = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = _serve  # noqa: N815 as the standard library looks for them

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        registry.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
