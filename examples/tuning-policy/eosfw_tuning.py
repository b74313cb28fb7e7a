"""A policy: connectors may tune the throughput of their producers, up to a limit, and change nothing else.

"connector.client.config.override.policy" = "tuning"
"connector.client.config.override.policy.batch.bytes" = 1000000
"""

from __future__ import annotations

from eosfw import Config, ConfigDef, Int, hookimpl
from eosfw.protocols import ClientConfigRequest

FREE = ("linger.ms", "compression.type")


class TuningPolicy:
    """Lets producers be tuned."""

    name = "tuning"
    config = ConfigDef(Int("batch.bytes", 1_000_000, "the largest batch.size that a connector may ask for", at_least=1))

    def configure(self, config: Config) -> None:
        self._most = config["batch.bytes"]

    def refusals(self, request: ClientConfigRequest) -> dict[str, str]:
        found = {name: self._refusal(request.client, name, text) for name, text in request.properties.items()}
        return {name: why for name, why in found.items() if why is not None}

    def _refusal(self, client: str, name: str, text: str) -> str | None:
        if client == "producer" and name in FREE:
            return None
        if client == "producer" and name == "batch.size" and text.isdecimal() and int(text) <= self._most:
            return None
        return f"the policy 'tuning' allows producers {', '.join(FREE)} and a batch.size of at most {self._most}"


@hookimpl
def eosfw_client_config_override_policies() -> list[type[TuningPolicy]]:
    return [TuningPolicy]
