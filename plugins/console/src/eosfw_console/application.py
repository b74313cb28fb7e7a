"""The pages of the console as routes of the REST interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from eosfw.concurrency import ThreadRuntime
from eosfw.protocols import RestCalls
from eosfw_console.actions import action_named
from eosfw_console.forms.actions import connector_action
from eosfw_console.forms.config import check_config, save_config
from eosfw_console.forms.form import FormFunction, FormRequest, Redirect
from eosfw_console.forms.offsets import apply_offsets, preview_offsets
from eosfw_console.live import INTERVAL, LiveStreams
from eosfw_console.pages.config import config_page
from eosfw_console.pages.connector import connector_page
from eosfw_console.pages.group import group_page
from eosfw_console.pages.offsets import offsets_page
from eosfw_console.pages.page import Page, PageFunction, PageRequest
from eosfw_console.pages.streaming import streaming_page
from eosfw_console.pages.timeline import REFRESH, timeline_page, timeline_picture
from eosfw_console.pages.transactions import transactions_page
from eosfw_console.pending_changes import PendingChanges
from eosfw_console.recent_steps import RecentSteps
from eosfw_console.security import COOKIE, HEADERS, PICTURE_HEADERS, new_token, set_cookie
from eosfw_console.submission import submitted_fields
from eosfw_console.templates import rendered, rendered_regions
from eosfw_console.throughput import Throughput
from eosfw_console.worker_client import RestError, WorkerClient, credentials
from eosfw_console.worker_requests import WorkerRequests

PAGES: Final[Mapping[str, PageFunction]] = {
    "": group_page,
    "/connectors/{connector}": connector_page,
    "/transactions": transactions_page,
    "/timeline": timeline_page,
    "/streaming": streaming_page,
}
INTERVALS: Final[Mapping[PageFunction, float]] = {timeline_page: REFRESH}
"""Seconds between two looks: the steps of busy tasks are many, and reading them all takes a fifth of a second."""
STILL_PAGES: Final[Mapping[str, PageFunction]] = {
    "/connectors/{connector}/config": config_page,
    "/connectors/{connector}/offsets": offsets_page,
}
"""Those with fields to fill in: nothing changes there while somebody types."""
FORMS: Final[Mapping[str, FormFunction]] = {
    "/connectors/{connector}/actions": connector_action,
    "/connectors/{connector}/config/check": check_config,
    "/connectors/{connector}/config/save": save_config,
    "/connectors/{connector}/offsets/preview": preview_offsets,
    "/connectors/{connector}/offsets/apply": apply_offsets,
}
_STATIC: Final = {"console.css": "text/css", "console.js": "text/javascript"}


class ConsoleApplication:
    """Answers a visitor's requests with what the REST interface shows to that visitor."""

    def __init__(self, rest: RestCalls, live: LiveStreams, steps: RecentSteps, *, read_only: bool) -> None:
        self._rest, self._live, self._steps, self._read_only = rest, live, steps, read_only
        self._now = ThreadRuntime().wall
        self._throughput = Throughput(ThreadRuntime().now)
        self._workers = WorkerRequests(ThreadRuntime())
        self._pending = PendingChanges(ThreadRuntime())

    def routes(self) -> list[Route]:
        """All routes, under `/ui`."""
        all_pages = {**PAGES, **STILL_PAGES}
        pages = [Route(f"/ui{path}", self._page(function)) for path, function in all_pages.items()]
        live = [Route(f"/ui/live{path}", self._stream(function)) for path, function in PAGES.items()]
        methods = ["GET", "POST"]
        forms = [Route(f"/ui{path}", self._form(path, function), methods=methods) for path, function in FORMS.items()]
        return [
            *pages,
            *live,
            *forms,
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
            return self._html(request, page)

        return endpoint

    def _stream(self, function: PageFunction) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            if "text/event-stream" not in request.headers.get("accept", ""):
                return Response("", 406, HEADERS)
            if self._live.is_full:
                return Response("", 503, {**HEADERS, "Retry-After": "60"})
            asked, frame = self._asked(request), self._frame(request)
            # Other visitors share what is looked at: a region with the token of one browser is refused as undefined.
            del frame["token"]
            key = (request.url.path, request.url.query, *sorted(credentials(request.headers).items()))

            def regions() -> Mapping[str, str]:
                try:
                    page = function(asked)
                except RestError as why:
                    return {"problem": why.message}
                return rendered_regions(page.template, page.regions, {**frame, **page.values})

            headers = {**HEADERS, "X-Accel-Buffering": "no"}
            interval = INTERVALS.get(function, INTERVAL)
            return StreamingResponse(
                self._live.changes(key, regions, interval), headers=headers, media_type="text/event-stream"
            )

        return endpoint

    def _form(self, path: str, function: FormFunction) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            if request.method != "POST":  # the address of an answer, loaded again
                return RedirectResponse(_page_of_form(path, request.path_params["connector"]), 303, HEADERS)
            try:
                fields = await submitted_fields(request, read_only=self._read_only)
                form = FormRequest(self._asked(request), fields, self._pending)
                outcome = await anyio.to_thread.run_sync(function, form)
            except RestError as why:
                return await anyio.to_thread.run_sync(self._error, request, why)
            if isinstance(outcome, Redirect):
                return RedirectResponse(outcome.path, 303, HEADERS)
            return await anyio.to_thread.run_sync(self._html, request, outcome)

        return endpoint

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
            workers=self._workers,
            now=self._now,
            parameters=request.path_params,
            query=dict(request.query_params),
        )

    def _error(self, request: Request, why: RestError) -> Response:
        return self._html(request, Page("error.html", (), {"status": why.status, "message": why.message}, why.status))

    def _html(self, request: Request, page: Page) -> Response:
        frame = self._frame(request)
        headers = dict(HEADERS)
        if not request.cookies.get(COOKIE):
            headers["Set-Cookie"] = set_cookie(frame["token"], secure=request.url.scheme == "https")
        return Response(rendered(page.template, {**frame, **page.values}), page.status, headers, "text/html")

    def _has_queries(self, request: Request) -> bool:
        try:
            return bool(WorkerClient(self._rest, request.headers).get("/streaming-queries"))
        except RestError:
            return False

    def _frame(self, request: Request) -> dict[str, Any]:
        """What every page has."""
        asked = action_named(request.query_params.get("asked", ""))
        return {
            "path": request.url.path,
            "read_only": self._read_only,
            "token": request.cookies.get(COOKIE) or new_token(),
            "asked": asked,
            "has_queries": self._has_queries(request),
        }


def _page_of_form(path: str, connector: str) -> str:
    return "/ui" + path.rpartition("/")[0].format(connector=quote(connector, safe=""))


def _static(request: Request) -> Response:
    name = request.path_params["file"]
    if name not in _STATIC:
        return Response("", 404, HEADERS)
    content = files("eosfw_console").joinpath("static", name).read_bytes()
    return Response(content, 200, {**HEADERS, "Cache-Control": "no-cache"}, _STATIC[name])
