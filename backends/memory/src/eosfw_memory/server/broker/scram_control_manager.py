"""Change the credentials of users for SCRAM, in the cluster's log first. Kafka's `ScramControlManager`."""

from __future__ import annotations

from collections.abc import Mapping

from eosfw_memory.server.broker.cluster_metadata import ClusterMetadata
from eosfw_memory.server.broker.scram_records import (
    ScramCredentialKey,
    decode_value,
    encode_key,
    encode_value,
    is_scram_key,
)
from eosfw_memory.server.security.scram_credential import ScramCredential, ScramMechanism


class ScramControlManager:
    """The credentials that new connections are authenticated with, beside those of the broker's properties."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata
        # Replaced, never changed: the network's thread looks users up without the broker's lock.
        self._credentials: Mapping[ScramCredentialKey, ScramCredential] = {}

    @property
    def credentials(self) -> Mapping[ScramCredentialKey, ScramCredential]:
        """All credentials."""
        return self._credentials

    def lookup(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        """The credential of a user; any thread may call."""
        return self._credentials.get(ScramCredentialKey(user, mechanism))

    def load(self) -> None:
        """Rebuild the credentials from the log."""
        self._credentials = dict(self._metadata.latest(is_scram_key, decode_value).values())

    def alter(self, changes: Mapping[ScramCredentialKey, ScramCredential | None]) -> None:
        """Set credentials, or with None remove them, all or none; raise KafkaError if they cannot be kept."""
        self._metadata.write(
            [
                (encode_key(whose), None if credential is None else encode_value(whose, credential))
                for whose, credential in changes.items()
            ]
        )
        after = {**self._credentials, **changes}
        self._credentials = {whose: credential for whose, credential in after.items() if credential is not None}
