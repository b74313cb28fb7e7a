"""The REST interface of a worker (Kafka Connect's `ConnectRestServer`)."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from eosfw.concurrency import Runtime
from eosfw.config import Config, ConfigDef
from eosfw.config.named_file import read_text
from eosfw.errors import ConfigError, Problem
from eosfw.protocols import Herder, RestExtension, RestResponse
from eosfw_rest.authentication import Authentication, parse_credentials
from eosfw_rest.extensions import registered
from eosfw_rest.herder_request_handler import HerderRequestHandler
from eosfw_rest.messages import Answer, RestRequest, error_message
from eosfw_rest.properties import (
    ADMIN_LISTENERS,
    AUTHENTICATION,
    CA,
    CERTIFICATE,
    KEY,
    KEY_PASSWORD,
    PROPERTIES,
    Listener,
    advertised_url,
    listeners,
)
from eosfw_rest.rest_client import RestClient
from eosfw_rest.routes import ROUTES, routes

if TYPE_CHECKING:
    from eosfw_rest.network.gate import Gate
    from eosfw_rest.routes import Route

_log = logging.getLogger(__name__)
_BACKLOG: Final = 128
_STARTING: Final = "The worker is still starting up"


class ConnectRestServer:
    """Serves Kafka Connect's REST interface through Starlette and uvicorn."""

    name: ClassVar[str] = "connect"
    config: ClassVar[ConfigDef] = PROPERTIES

    def __init__(self, config: Config, runtime: Runtime, sockets: list[socket.socket], bound: list[Listener]) -> None:
        # Every command and each task of Spark loads this class, but few serve: they spare a quarter of a second.
        from eosfw_rest.network.application import application
        from eosfw_rest.network.cross_origin import origin_check
        from eosfw_rest.network.forgery_check import ForgeryCheck
        from eosfw_rest.network.gate import Gate
        from eosfw_rest.network.host_check import HostCheck
        from eosfw_rest.network.web_server import BoundListener, WebServer

        self.url = advertised_url(config, bound)
        self.admin_url = next((one.url for one in bound if one.admin), None)
        """Where the calls under `/admin` are; None if they are where the others are, or nowhere."""
        self._herder: Herder | None = None
        self._client = RestClient(runtime.now, _client_tls(config))
        self._handler = HerderRequestHandler(self.request)
        self._web = WebServer(runtime)
        self._topics = {"": bool(config["topic.tracking.enable"]), "reset": bool(config["topic.tracking.allow.reset"])}
        in_thread: Callable[[Callable[[], bool]], Awaitable[bool]] = self._web.in_sign_in_thread
        self._application = partial(application, self._answer, version("eosfw-rest"))
        self._routes = ROUTES if config[ADMIN_LISTENERS] is None else routes(admin=False)
        self._extensions: Sequence[RestExtension] = ()
        authentication = _authentication(config, runtime)
        host_check = HostCheck(config["rest.advertised.host.name"])
        forgery_check = ForgeryCheck(origin_check(config))
        self._gate = Gate(self._application(self._routes), authentication, host_check, forgery_check, in_thread)
        # As in Kafka Connect, pages of other origins may not use a listener for /admin alone.
        forgery_check = ForgeryCheck(lambda _: False)
        admin = Gate(self._application(routes(admin=True)), authentication, host_check, forgery_check, in_thread)
        apps = {False: _filtered(_across_origins(self._gate, config), config, runtime)}
        apps[True] = _filtered(admin, config, runtime)
        tls = _server_tls(config)
        self._web.start(
            [
                BoundListener(one, tls if at.scheme == "https" else None, apps[at.admin])
                for one, at in zip(sockets, bound, strict=True)
            ]
        )

    @classmethod
    def start(cls, config: Config, runtime: Runtime) -> Self:
        """Open the sockets and return; ConfigError names a listener that is unsafe or taken."""
        wanted = listeners(config)
        sockets: list[socket.socket] = []
        try:
            sockets.extend(_bind(one) for one in wanted)
            bound = [replace(at, port=one.getsockname()[1]) for at, one in zip(wanted, sockets, strict=True)]
            return cls(config, runtime, sockets, bound)
        except BaseException:
            for one in sockets:
                one.close()
            raise

    def serve(self, herder: Herder, extensions: Sequence[RestExtension] = ()) -> None:
        from eosfw_rest.in_process import InProcessRequests

        self._extensions = extensions
        if extensions:
            rest = InProcessRequests(self._routes, partial(self._answer_of, herder), self.request)
            context = registered(extensions, herder, rest)
            self._gate.app = self._application(self._routes, context.routes, context.middleware)
        self._herder = herder
        _log.info("REST interface at %s", self.url)
        if self.admin_url is not None:
            _log.info("calls under /admin at %s", self.admin_url)

    def request(self, method: str, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> RestResponse:
        return self._client.request(method, url, body, headers, timeout)

    def close(self) -> None:
        self._web.close()
        with ExitStack() as closing:
            for extension in self._extensions:
                closing.callback(extension.close)

    async def _answer(self, route: Route, request: RestRequest) -> Answer:
        herder = self._herder
        if herder is None:
            return _starting(route)
        return await self._web.in_thread(lambda: self._answer_of(herder, route, request))

    def _answer_of(self, herder: Herder, route: Route, request: RestRequest) -> Answer:
        if refusal := self._topic_refusal(route):
            return refusal
        return self._handler.answer(route.handler, request, herder, forwards=not route.internal)

    def _topic_refusal(self, route: Route) -> Answer | None:
        if "/topics" not in route.path:
            return None
        if not self._topics[""]:
            return error_message(403, "Topic tracking is disabled.")
        if route.method == "PUT" and not self._topics["reset"]:
            return error_message(403, "Topic tracking reset is disabled.")
        return None


def _across_origins(gate: Gate, config: Config) -> Any:
    """The application, for pages of the origins that the worker's properties allow."""
    from eosfw_rest.network.cross_origin import CrossOrigin, allowed_origins

    return CrossOrigin(gate, config) if allowed_origins(config) else gate


def _filtered(app: Any, config: Config, runtime: Runtime) -> Any:
    """The application, with the headers that the worker's properties add to its answers."""
    from eosfw_rest.network.response_headers import ResponseHeaders, header_rules

    rules = header_rules(config)
    return ResponseHeaders(app, rules, runtime) if rules else app


def _starting(route: Route) -> Answer:
    if route.path == "/health":
        return Answer(503, {"status": "starting", "message": _STARTING})
    return error_message(503, _STARTING, {"Retry-After": "1"})


def _bind(listener: Listener) -> socket.socket:
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    # asyncio sends small answers at once through sockets that are TCP by name alone; others wait 40 ms.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((listener.host, listener.port))
        opened.listen(_BACKLOG)
    except OSError as why:
        opened.close()
        what = f"{listener.property_name}: {listener.url} cannot be opened: {why.strerror or why}"
        raise ConfigError(Problem("", what)) from None
    return opened


def _authentication(config: Config, runtime: Runtime) -> Authentication | None:
    path = config[AUTHENTICATION]
    if path is None:
        return None
    return Authentication(parse_credentials(_text_of(path), path), runtime.lock())


def _text_of(path: str) -> str:
    try:
        return read_text(Path(path))
    except (OSError, UnicodeDecodeError) as why:
        raise ConfigError(Problem("", f"{AUTHENTICATION}: {path}: {why}")) from None


def _server_tls(config: Config) -> ssl.SSLContext | None:
    if config[CERTIFICATE] is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # The function keeps OpenSSL from asking for a password at the terminal.
        context.load_cert_chain(config[CERTIFICATE], config[KEY], lambda: config[KEY_PASSWORD] or "")
    except (OSError, ValueError) as why:
        raise ConfigError(Problem("", f"{CERTIFICATE}: {config[CERTIFICATE]} cannot be used: {why}")) from None
    return context


def _client_tls(config: Config) -> ssl.SSLContext | None:
    if config[CA] is None:
        return None
    try:
        context: Any = ssl.create_default_context(cafile=config[CA])
    except OSError as why:
        raise ConfigError(Problem("", f"{CA}: {config[CA]} cannot be used: {why}")) from None
    return context  # type: ignore[no-any-return]
