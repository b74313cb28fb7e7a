"""Every request that Kafka serves is served or listed as an omission."""

from __future__ import annotations

from pathlib import Path

import pytest
from kio.index import load_request_schema

from eosfw_memory.server.protocol.routes import ROUTES

from ..groups.group_requests import Raw

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "omissions.md"
API_VERSIONS = 18


def name(key: int, version: int) -> str:
    return load_request_schema(key, version).__name__.removesuffix("Request")


@pytest.fixture(scope="module")
def served(real_kafka):
    """The versions that a real Kafka offers, by key."""
    raw = Raw(real_kafka)
    answer = raw.ask(API_VERSIONS, 3, client_software_name="tests", client_software_version="1")
    raw.close()
    return {each["api_key"]: range(each["min_version"], each["max_version"] + 1) for each in answer["api_keys"]}


@pytest.mark.kafka
def test_a_request_is_served_or_listed(served):
    """CMP-01."""
    page = PAGE.read_text()
    absent = [name(key, versions[-1]) for key, versions in served.items() if key not in ROUTES]

    assert [each for each in absent if each not in page] == []


@pytest.mark.kafka
def test_a_version_is_served_or_listed(served):
    """CMP-01."""
    page = PAGE.read_text().partition("**Versions that the embedded broker does not serve**")[2].partition("\n- **")[0]
    page += PAGE.read_text().partition("**Groups on the embedded broker.**")[2].partition("\n- **")[0]
    missing = {
        name(key, versions[-1])
        for key, versions in served.items()
        if key in ROUTES
        for version in versions
        if not ROUTES[key].min_version <= version <= ROUTES[key].max_version
    }

    assert {each for each in missing if each not in page} == set()


@pytest.mark.kafka
def test_every_advertised_api_version_is_served_by_kafka(served):
    """CMP-01."""
    beyond = {
        name(route.key, version)
        for route in ROUTES.values()
        for version in range(route.min_version, route.max_version + 1)
        if version not in served.get(route.key, ())
    }

    assert beyond == set()
