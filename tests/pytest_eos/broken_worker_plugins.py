"""Plugins of a worker that break one promise of their contract each: providers, extensions, reporters, policies."""

from __future__ import annotations

from typing import ClassVar

from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route

from eosfw.protocols import ConfigData, LookupRefusedError


class FixedValues:
    """A sound config provider."""

    name = "fixed"
    values: ClassVar = {"user": "alice-7f3a", "password": "s3cret-91c2"}

    def get(self, path, keys):
        if path or set(keys) - set(self.values):
            raise LookupRefusedError("it has no such value")
        return ConfigData({key: self.values[key] for key in keys})

    def close(self):
        pass


class TellsAll(FixedValues):
    """Gives every value, whatever is asked for."""

    def get(self, path, keys):
        super().get(path, keys)
        return ConfigData(self.values)


class LeavesOut(FixedValues):
    """Gives what it has, and leaves the rest out."""

    def get(self, path, keys):
        return ConfigData({key: self.values[key] for key in keys if key in self.values})


class Talkative(FixedValues):
    """Shows what it has in a refusal."""

    def get(self, path, keys):
        try:
            return super().get(path, keys)
        except LookupRefusedError:
            raise LookupRefusedError(f"there is only {self.values}") from None


class Ping:
    """A sound extension of the REST interface."""

    name = "ping"

    def register(self, context):
        context.routes.append(Route("/ping", lambda _: Response("pong")))

    def version(self):
        return "1.0"

    def close(self):
        pass


class Nothing(Ping):
    """Registers nothing."""

    def register(self, context):
        pass


class Fails(Ping):
    """Its route fails."""

    def register(self, context):
        context.routes.append(Route("/ping", lambda _: 1 / 0))


class Stamps(Ping):
    """Changes every answer."""

    def register(self, context):
        super().register(context)
        context.middleware.append(Middleware(_Teapot))


class _Teapot:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        await Response("tea", 418)(scope, receive, send)


REPORTED = {}
"""What the reporters below were given last."""


class Remembers:
    """A sound metrics reporter."""

    name = "remembers"

    def start(self, context):
        REPORTED.clear()

    def report(self, metrics):
        REPORTED.clear()
        REPORTED.update({metric.name: metric.value for metric in metrics})

    def close(self):
        pass


class FirstOnly(Remembers):
    """Keeps the first value of each metric."""

    def report(self, metrics):
        for metric in metrics:
            REPORTED.setdefault(metric.name, metric.value)


class WholeNumbers(Remembers):
    """Knows whole numbers alone."""

    def report(self, metrics):
        super().report(metrics)
        [int(metric.value) for metric in metrics]


class Takes(Remembers):
    """Empties the list."""

    def report(self, metrics):
        super().report(metrics)
        metrics.clear()


class LingerAlone:
    """A sound policy for overrides of clients."""

    name = "linger"

    def refusals(self, request):
        return {name: "only linger.ms may be changed" for name in request.properties if name != "linger.ms"}


class LetsAll(LingerAlone):
    """Refuses nothing."""

    def refusals(self, request):
        return {}


class ShowsIt(LingerAlone):
    """Says what it refuses, with the value."""

    def refusals(self, request):
        return {name: f"{request.properties[name]} is not allowed" for name in super().refusals(request)}


class OnceOnly(LingerAlone):
    """Refuses the first time alone."""

    def refusals(self, request):
        found, self.refusals = super().refusals(request), lambda _: {}
        return found
