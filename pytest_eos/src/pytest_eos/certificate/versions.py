"""The versions of everything that the result may depend on."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator
from importlib import metadata

from pytest_eos.certificate.evidence import Evidence
from pytest_eos.environment.config.installed_plugins import installed_plugins

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def versions(evidence: Iterable[Evidence]) -> dict[str, str]:
    """Names with their versions: the framework, Python, the connectors, the backends with their clients, Spark."""
    evidence = list(evidence)
    found = {name: version(name) or "?" for name in ("eosfw", "pytest-eos")}
    found["Python"] = f"{platform.python_version()} ({platform.python_implementation()})"
    found["system"] = f"{platform.system()} {platform.machine()}"
    for one in evidence:
        for promise in one.promises:
            if promise.distribution:
                found[promise.distribution] = version(promise.distribution) or "?"
    for backend in dict.fromkeys(one.backend for one in evidence if one.backend):
        found |= _of_backend(backend)
    clusters = sorted({one.cluster for one in evidence if one.cluster})
    if clusters:
        found["broker"] = ", ".join(map(_broker, clusters))
    if spark := next((one.spark for one in evidence if one.spark), ""):
        found["PySpark"] = spark
    return found


def version(name: str) -> str | None:
    """The version of a distribution; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _broker(cluster: str) -> str:
    if cluster == "the embedded broker":
        return f"embedded, eosfw-memory {version('eosfw-memory') or '?'}"
    return f"{cluster}, whose version was not asked"


def _of_backend(name: str) -> dict[str, str]:
    owners = [one.source.distribution for one in installed_plugins().registered() if one.name == name]
    found = {}
    for owner in owners[:1]:
        found[owner] = version(owner) or "?"
        found |= {client: known for client in _clients(owner) if (known := version(client))}
    return found


def _clients(distribution: str) -> Iterator[str]:
    """What a backend needs besides the framework, without its extras."""
    for one in metadata.requires(distribution) or ():
        name = _NAME.match(one)
        if name and "extra ==" not in one and not name[0].startswith("eosfw"):
            yield name[0]
