"""The pages of the console as routes of the REST interface."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qsl

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from eosfw.concurrency import ThreadRuntime
from eosfw.protocols import RestCalls
from eosfw_console.actions import action_named
from eosfw_console.live import LiveStreams
from eosfw_console.pages.connector import connector_page
from eosfw_console.pages.group import group_page
from eosfw_console.pages.page import PageFunction, PageRequest
from eosfw_console.pages.timeline import timeline_page, timeline_picture
from eosfw_console.pages.transactions import transactions_page
from eosfw_console.recent_steps import RecentSteps
from eosfw_console.security import COOKIE, HEADERS, PICTURE_HEADERS, forgery_problem, new_token, set_cookie
from eosfw_console.templates import rendered, rendered_regions
from eosfw_console.throughput import Throughput
from eosfw_console.worker_client import RestError, WorkerClient, connector_path

_log = logging.getLogger(__name__)

PAGES: Final[Mapping[str, PageFunction]] = {
    "": group_page,
    "/connectors/{connector}": connector_page,
    "/transactions": transactions_page,
    "/timeline": timeline_page,
}
_LARGEST_FORM: Final = 64_000
_STATIC: Final = {"console.css": "text/css", "console.js": "text/javascript"}
_READ_ONLY: Final = "This console is read-only: rest.extension.classes.console.read.only is true on this worker."


class ConsoleApplication:
    """Answers a visitor's requests with what the REST interface shows to that visitor."""

    def __init__(self, rest: RestCalls, live: LiveStreams, steps: RecentSteps, *, read_only: bool) -> None:
        self._rest, self._live, self._steps, self._read_only = rest, live, steps, read_only
        self._now = ThreadRuntime().wall
        self._throughput = Throughput(ThreadRuntime().now)

    def routes(self) -> list[Route]:
        """All routes, under `/ui`."""
        pages = [Route(f"/ui{path}", self._page(function)) for path, function in PAGES.items()]
        live = [Route(f"/ui/live{path}", self._stream(function)) for path, function in PAGES.items()]
        return [
            *pages,
            *live,
            Route("/ui/connectors/{connector}/actions", self._act, methods=["POST"]),
            Route("/ui/steps", self._recent_steps),
            Route("/ui/timeline.svg", self._timeline),
            Route("/ui/static/{file}", _static),
        ]

    def _page(self, function: PageFunction) -> Callable[[Request], Response]:
        def endpoint(request: Request) -> Response:
            try:
                page = function(self._asked(request))
            except RestError as why:
                return self._error(request, why)
            return self._html(request, page.template, page.values)

        return endpoint

    def _stream(self, function: PageFunction) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            if "text/event-stream" not in request.headers.get("accept", ""):
                return Response("", 406, HEADERS)
            if self._live.is_full:
                return Response("", 503, {**HEADERS, "Retry-After": "60"})
            asked, frame = self._asked(request), self._frame(request)

            def regions() -> Mapping[str, str]:
                try:
                    page = function(asked)
                except RestError as why:
                    return {"problem": why.message}
                return rendered_regions(page.template, page.regions, {**frame, **page.values})

            headers = {**HEADERS, "X-Accel-Buffering": "no"}
            return StreamingResponse(self._live.changes(regions), headers=headers, media_type="text/event-stream")

        return endpoint

    async def _act(self, request: Request) -> Response:
        if self._read_only:
            return await self._refusal(request, RestError(403, _READ_ONLY))
        form = await _form(request)
        if form is None:
            return await self._refusal(request, RestError(413, "The form is too large."))
        if problem := forgery_problem(request.headers, request.cookies.get(COOKIE), form.get("token", "")):
            _log.warning("a request to change %s is refused: %s", request.url.path, problem)
            return await self._refusal(request, RestError(403, f"Nothing was changed: {problem}."))
        action = action_named(form.get("action", ""))
        if action is None:
            return await self._refusal(request, RestError(400, "The form names no action that the console knows."))
        client, connector = WorkerClient(self._rest, request.headers), request.path_params["connector"]
        try:
            await anyio.to_thread.run_sync(action.perform, client, connector)
        except RestError as why:
            return await self._refusal(request, why)
        _log.info("%s of connector %s was asked for in the console", action.name, connector)
        return RedirectResponse(f"/ui{connector_path(connector)}?asked={action.name}", 303, HEADERS)

    async def _recent_steps(self, request: Request) -> Response:
        """What this worker did, for the timelines of others; without a thread, since a page waits for it in one."""
        since = request.query_params.get("since", "0")
        try:
            lines = self._steps.lines(float(since))
        except ValueError:
            return Response(f"since is no number: {since!r}", 400, HEADERS, "text/plain")
        return Response(lines, 200, HEADERS, "application/x-ndjson")

    def _timeline(self, request: Request) -> Response:
        try:
            return Response(timeline_picture(self._asked(request)), 200, PICTURE_HEADERS, "image/svg+xml")
        except RestError as why:
            return Response(why.message, why.status, HEADERS, "text/plain")

    def _asked(self, request: Request) -> PageRequest:
        return PageRequest(
            client=WorkerClient(self._rest, request.headers),
            throughput=self._throughput,
            now=self._now,
            parameters=request.path_params,
            query=dict(request.query_params),
        )

    async def _refusal(self, request: Request, why: RestError) -> Response:
        return await anyio.to_thread.run_sync(self._error, request, why)

    def _error(self, request: Request, why: RestError) -> Response:
        return self._html(request, "error.html", {"status": why.status, "message": why.message}, why.status)

    def _html(self, request: Request, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
        frame = self._frame(request)
        headers = dict(HEADERS)
        if not request.cookies.get(COOKIE):
            headers["Set-Cookie"] = set_cookie(frame["token"], secure=request.url.scheme == "https")
        return Response(rendered(template, {**frame, **values}), status, headers, "text/html")

    def _frame(self, request: Request) -> dict[str, Any]:
        """What every page has."""
        asked = action_named(request.query_params.get("asked", ""))
        return {
            "path": request.url.path,
            "read_only": self._read_only,
            "token": request.cookies.get(COOKIE) or new_token(),
            "asked": asked,
        }


async def _form(request: Request) -> dict[str, str] | None:
    """The fields of a form; None for one that is too large."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST_FORM:
            return None
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def _static(request: Request) -> Response:
    name = request.path_params["file"]
    if name not in _STATIC:
        return Response("", 404, HEADERS)
    content = files("eosfw_console").joinpath("static", name).read_bytes()
    return Response(content, 200, {**HEADERS, "Cache-Control": "no-cache"}, _STATIC[name])
