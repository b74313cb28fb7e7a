"""Signing and checking of the requests between the workers of a group (KIP-507)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping

from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.config.distributed import NOT_SESSIONED
from eosfw.errors import RequestRefusedError
from eosfw.protocols.herder import InternalRequest
from eosfw.runtime.storage.config_topic import ConfigTopic
from eosfw.state.group.request_signature import (
    ReplayCache,
    SignatureCheck,
    SignatureRules,
    SignedContent,
    signature_headers,
)
from eosfw.state.storage.session_key import SessionKey, SessionKeySettings

_NONCE_BYTES = 16


class InternalRequestSignatures:
    """Uses the session keys that the config topic has; thread-safe (what `DistributedHerder` does with its keys).

    Without `connect.protocol=sessioned` there are no keys: nothing is signed, and everything is accepted.
    """

    def __init__(
        self,
        worker: Config,
        name: str,
        topic: ConfigTopic,
        runtime: Runtime,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """`name` is this worker's own, by which others sign what they send to it; each start gives it another one."""
        self._name = name
        self._topic, self._runtime, self._random_bytes = topic, runtime, random_bytes
        self._sessioned = worker["connect.protocol"] not in NOT_SESSIONED
        self._settings = SessionKeySettings(
            worker["inter.worker.key.generation.algorithm"],
            worker["inter.worker.key.size"],
            worker["inter.worker.key.ttl.ms"],
        )
        self._signs_with: str = worker["inter.worker.signature.algorithm"]
        self._accepts: tuple[str, ...] = worker["inter.worker.verification.algorithms"]
        self._replays = ReplayCache()
        self._lock = runtime.lock()

    def new_key(self) -> SessionKey | None:
        """The key that the leader must write to the config topic now; None while the newest one serves."""
        now = self._now()
        if not self._sessioned or not self._settings.rotation_due(self._topic.session_keys.current, now):
            return None
        return self._settings.new_key(now, self._random_bytes)

    def headers(self, receiver: str, method: str, path: str, body: bytes) -> Mapping[str, str]:
        """The headers that sign a request to the worker `receiver`; `path` with its query, as it is sent."""
        if not self._sessioned:
            return {}
        key = self._topic.session_keys.current
        if key is None:
            raise RequestRefusedError(SignatureCheck.NO_KEY_YET.message, SignatureCheck.NO_KEY_YET.status)
        nonce = self._random_bytes(_NONCE_BYTES).hex()
        content = SignedContent(receiver, method, path, body)
        return signature_headers(content, key, self._signs_with, now=self._now(), nonce=nonce)

    def refuse_unless_valid(self, request: InternalRequest) -> None:
        """Raise RequestRefusedError for a request that no worker of the group has signed, or that came before."""
        if not self._sessioned:
            return
        rules = SignatureRules(self._accepts, self._topic.session_keys, self._replays)
        content = SignedContent(self._name, request.method, request.path, request.body)
        # Looked up and noted in one go: of two copies that come at the same time only one is new.
        with self._lock:
            found = rules.check(content, request.headers, self._now())
        if found is not SignatureCheck.VALID:
            raise RequestRefusedError(found.message, found.status)

    def _now(self) -> int:
        return int(self._runtime.wall() * 1000)
