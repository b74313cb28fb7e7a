"""A description of the routes in OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from eosfw_rest.routes import Route

_TEXT: Final = {"type": "string"}
_ERROR: Final = {
    "type": "object",
    "properties": {"error_code": {"type": "integer"}, "message": _TEXT},
    "required": ["error_code", "message"],
}


def openapi(routes: Sequence[Route], version: str) -> dict[str, Any]:
    """Describe all routes but those between workers."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if not route.internal:
            paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "eosfw worker", "version": version},
        "paths": paths,
        "components": {"schemas": {"ErrorMessage": _ERROR}},
    }


def _operation(route: Route) -> dict[str, Any]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    in_path = [{"name": name, "in": "path", "required": True, "schema": _TEXT} for name in names]
    in_query = [{"name": name, "in": "query", "required": False, "schema": _TEXT} for name in route.query]
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorMessage"}}}
    operation: dict[str, Any] = {
        "operationId": f"{route.handler.__module__.rpartition('.')[2]}_{route.handler.__name__}",
        "summary": (route.handler.__doc__ or "").partition("\n")[0],
        "parameters": [*in_path, *in_query],
        "responses": {
            str(route.status): {"description": "Success"},
            "default": {"description": "Error", "content": error},
        },
    }
    if route.has_body:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": {}}}}
    return operation
