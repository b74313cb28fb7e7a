"""The contract of a policy for overrides of clients: it judges the same way each time, and shows no value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from eosfw.config.parts import PartChoice
from eosfw.protocols import ClientConfigOverridePolicy, ClientConfigRequest

_CLIENTS = ("producer", "consumer", "admin")


@dataclass(frozen=True, slots=True)
class JudgedOverrides:
    """A policy, and what it is known to let through and to refuse."""

    policy: type[ClientConfigOverridePolicy]
    """A class that is offered by `eosfw_client_config_override_policies`."""
    allowed: Mapping[str, str]
    """At least one property that it lets through, with its value."""
    refused: Mapping[str, str]
    """At least one that it refuses; values that the names do not contain."""
    client: str = "producer"
    """The client of both."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What a worker would write as `connector.client.config.override.policy.*`."""


class ClientConfigOverridePolicyContract:
    """Inherit, and define the fixture `judged`, which returns `JudgedOverrides`."""

    @pytest.fixture
    def judged(self) -> JudgedOverrides:
        """The policy under test, and what it says."""
        raise NotImplementedError("define the fixture judged")

    @pytest.fixture
    def override_policy(self, judged: JudgedOverrides) -> ClientConfigOverridePolicy:
        """A policy that was made and configured as a worker does it."""
        choice = PartChoice("connector.client.config.override.policy", judged.policy.name, judged.properties)
        return choice.configured(judged.policy())

    def test_a_policy_names_itself_as_no_built_in_one(self, override_policy: ClientConfigOverridePolicy) -> None:
        """PLG-13: the built-in ones come first."""
        assert isinstance(override_policy, ClientConfigOverridePolicy)
        assert override_policy.name.lower() not in ("none", "all", "principal", "allowlist"), "the name is taken"

    def test_what_is_allowed_is_let_through(
        self, override_policy: ClientConfigOverridePolicy, judged: JudgedOverrides
    ) -> None:
        """PLG-13: also beside what is refused."""
        request = _request(judged.client, {**judged.allowed, **judged.refused})
        wrong = override_policy.refusals(request).keys() & judged.allowed.keys()
        assert not wrong, f"it refuses what it should let through: {', '.join(sorted(wrong))}"

    def test_what_is_refused_is_refused_with_a_reason_that_shows_no_value(
        self, override_policy: ClientConfigOverridePolicy, judged: JudgedOverrides
    ) -> None:
        """PLG-13: the REST interface shows the reason to whoever asks."""
        refused = override_policy.refusals(_request(judged.client, {**judged.allowed, **judged.refused}))
        missing = judged.refused.keys() - refused.keys()
        assert not missing, f"it lets through what it should refuse: {', '.join(sorted(missing))}"
        shown = [name for name, text in judged.refused.items() if text in refused[name]]
        assert not shown, f"the reason shows the value of {', '.join(shown)}"

    @pytest.mark.parametrize("client", _CLIENTS)
    def test_only_what_was_asked_about_is_refused(
        self, override_policy: ClientConfigOverridePolicy, judged: JudgedOverrides, client: str
    ) -> None:
        """PLG-13: every client is asked about, and one of which nothing is changed as well."""
        for given in ({}, dict(judged.allowed), dict(judged.refused)):
            odd = override_policy.refusals(_request(client, given)).keys() - given.keys()
            assert not odd, f"it refuses {', '.join(sorted(odd))}, of which nothing was said"

    def test_a_policy_says_the_same_each_time(
        self, override_policy: ClientConfigOverridePolicy, judged: JudgedOverrides
    ) -> None:
        """PLG-13: a connector that was let in is asked about again whenever its task starts."""
        given = {**judged.allowed, **judged.refused}
        first = dict(override_policy.refusals(_request(judged.client, given)))
        assert dict(override_policy.refusals(_request(judged.client, given))) == first
        assert given == {**judged.allowed, **judged.refused}, "it changed what it was asked about"


def _request(client: str, properties: Mapping[str, str]) -> ClientConfigRequest:
    return ClientConfigRequest("orders", "file", client, properties)
