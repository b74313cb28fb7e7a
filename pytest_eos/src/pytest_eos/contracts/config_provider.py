"""The contract of a config provider: it gives what is asked for, refuses the rest, and shows no value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from eosfw.config.parts import PartChoice
from eosfw.protocols import ConfigProvider, LookupRefusedError
from pytest_eos.contracts.threads import THREADS, at_once

_NO_SUCH = "eos-no-such-thing"


@dataclass(frozen=True, slots=True)
class ProvidedValues:
    """A provider, and what it is known to hold."""

    provider: type[ConfigProvider]
    """A class that is offered by `eosfw_config_providers`."""
    values: Mapping[str, str]
    """At least two keys at one path, with values that no key and no path contains."""
    path: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """What a worker would write as `config.providers.NAME.param.*`."""


class ConfigProviderContract:
    """Inherit, and define the fixture `provided`, which returns `ProvidedValues`."""

    @pytest.fixture
    def provided(self) -> ProvidedValues:
        """The provider under test, and what it holds."""
        raise NotImplementedError("define the fixture provided")

    @pytest.fixture
    def config_provider(self, provided: ProvidedValues) -> Iterator[ConfigProvider]:
        """A provider that was made and configured as a worker does it."""
        choice = PartChoice("config.providers.contract.param", provided.provider.name, provided.parameters)
        provider = choice.configured(provided.provider())
        yield provider
        provider.close()

    def test_a_provider_names_itself(self, config_provider: ConfigProvider) -> None:
        """It is chosen by its name, in `config.providers.NAME.class`."""
        assert isinstance(config_provider, ConfigProvider)
        assert config_provider.name

    def test_the_values_of_all_keys_come_at_once(
        self, config_provider: ConfigProvider, provided: ProvidedValues
    ) -> None:
        """A worker asks once for all references to a path."""
        assert config_provider.get(provided.path, list(provided.values)).values == provided.values

    def test_no_value_comes_that_was_not_asked_for(
        self, config_provider: ConfigProvider, provided: ProvidedValues
    ) -> None:
        """What a worker does not ask for it cannot hide."""
        for key, value in provided.values.items():
            assert config_provider.get(provided.path, [key]).values == {key: value}

    def test_values_hold_good_for_a_while_or_without_a_limit(
        self, config_provider: ConfigProvider, provided: ProvidedValues
    ) -> None:
        """`ttl` is a number of seconds to come, or None."""
        ttl = config_provider.get(provided.path, list(provided.values)).ttl
        assert ttl is None or ttl > 0

    @pytest.mark.parametrize("what", ["key", "path", "one of several keys"])
    def test_a_lookup_without_a_value_is_refused_and_shows_none(
        self, config_provider: ConfigProvider, provided: ProvidedValues, what: str
    ) -> None:
        """Else a client would be given the text of the reference as its password."""
        keys = {"key": [_NO_SUCH], "path": list(provided.values), "one of several keys": [*provided.values, _NO_SUCH]}
        path = f"{provided.path}/{_NO_SUCH}" if what == "path" else provided.path

        with pytest.raises(LookupRefusedError) as refused:
            config_provider.get(path, keys[what])

        assert str(refused.value), "the text says why"
        assert [key for key, value in provided.values.items() if value in str(refused.value)] == []

    def test_a_provider_shows_no_value_of_its_own_accord(
        self, config_provider: ConfigProvider, provided: ProvidedValues
    ) -> None:
        """What it keeps may be printed by a debugger or a log line."""
        data = config_provider.get(provided.path, list(provided.values))

        shown = f"{config_provider!r} {data!r}"

        assert [key for key, value in provided.values.items() if value in shown] == []

    def test_several_threads_may_ask_at_once(self, config_provider: ConfigProvider, provided: ProvidedValues) -> None:
        """All tasks of a worker may start at the same time."""
        found: list[Mapping[str, str]] = []

        def ask(_: int) -> None:
            found.extend(config_provider.get(provided.path, list(provided.values)).values for _ in range(10))

        at_once(ask)
        assert found == [provided.values] * 10 * THREADS

    def test_a_provider_may_be_closed_repeatedly(self, config_provider: ConfigProvider) -> None:
        """A worker that is killed while it stops closes everything again."""
        config_provider.close()
        config_provider.close()
