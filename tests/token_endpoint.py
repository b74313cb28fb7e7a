"""A token endpoint of an OpenID provider on 127.0.0.1, whose tokens nobody has signed."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs

from eosfw.concurrency import ThreadRuntime
from http_endpoint import HttpEndpoint

CLIENT_ID = "shop"
SECRET = "s3cret-of-shop"


def unsecured_token(**claims: object) -> str:
    """A JWT without a signature, which lasts an hour unless the claims say otherwise."""
    now = int(ThreadRuntime().wall())
    sections = ({"alg": "none"}, {"sub": CLIENT_ID, "iat": now, "exp": now + 3600, **claims})
    return "".join(f"{_section(each)}." for each in sections)


class TokenEndpoint(HttpEndpoint):
    """Gives tokens to one client; `asked` has the form of each request, `claims` go into each token."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.asked: list[Mapping[str, list[str]]] = []
        self.claims: dict[str, object] = {}
        self.answer: tuple[int, Mapping[str, str], bytes] | None = None
        """Status, headers and body of every answer, if it is not to be a token."""
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                endpoint.asked.append(form)
                status, headers, body = endpoint.answer or endpoint._judged(self.headers["Authorization"])
                self.send_response(status)
                for name, text in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, text)
                self.end_headers()
                self.wfile.write(body)

        super().__init__(Handler, "/token", context)

    def client(self, secret: str = SECRET) -> dict[str, str]:
        """What a client's properties say of it, by Kafka's names."""
        return {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": self.url,
            "sasl.oauthbearer.client.credentials.client.id": CLIENT_ID,
            "sasl.oauthbearer.client.credentials.client.secret": secret,
        }

    def _judged(self, authorization: str) -> tuple[int, Mapping[str, str], bytes]:
        if authorization != f"Basic {base64.b64encode(f'{CLIENT_ID}:{SECRET}'.encode()).decode()}":
            return 401, {}, json.dumps({"error": "invalid_client", "error_description": "Who are you?"}).encode()
        token = {"access_token": unsecured_token(**self.claims), "token_type": "Bearer", "expires_in": 3600}
        return 200, {"Content-Type": "application/json"}, json.dumps(token).encode()


def _section(claims: Mapping[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
