"""The network between simulated workers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Self

from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.errors import ClusterUnavailableError, IllegalStateError
from eosfw.protocols import RestResponse
from eosfw.protocols.herder import InternalRequest
from pytest_eos.runs.groups.herders import DirectRestServer, WorkerNetwork
from pytest_eos.virtual import VirtualProcess

IsCut = Callable[[str, str], bool]
"""Whether requests of one worker do not reach another one."""


class SimulatedRestServer(DirectRestServer):
    """The REST interface of a simulated worker: the worker that is asked answers on a greenlet of its own."""

    def __init__(self, network: WorkerNetwork, worker: str, process: VirtualProcess, is_cut: IsCut) -> None:
        super().__init__(network, f"http://{worker}:8083")
        self.worker = worker
        self._runtime = self._process = process
        self._is_cut = is_cut
        network.servers[self.url] = self

    @classmethod
    def start(cls, config: Config, runtime: Runtime) -> Self:
        """A simulated worker gets its interface from its group, so that nobody starts another one."""
        raise IllegalStateError("a simulated worker has the REST interface that its group gave it")

    def request(self, method: str, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> RestResponse:
        """Have another worker answer; without an answer, as from one that stands still, give up after `timeout`."""
        server = self._network.servers.get("/".join(url.split("/")[:3]))
        if not isinstance(server, SimulatedRestServer) or server.has_ended:
            raise ClusterUnavailableError(f"no worker answers at {url}")
        if self._is_cut(self.worker, server.worker):
            self._process.sleep(timeout)
            raise ClusterUnavailableError(f"no answer from {url} within {timeout:g} s")
        path = "/" + "/".join(url.split("/")[3:])
        lower = {name.lower(): text for name, text in headers.items()}
        request = self.sent(InternalRequest(method, path, body, lower), server)
        answers: list[RestResponse] = []
        done = self._process.event()

        def answer() -> None:
            answers.append(server.answer_safely(request))
            done.set()

        server.spawn("rest", answer)
        if not done.wait(timeout):
            raise ClusterUnavailableError(f"no answer from {url} within {timeout:g} s")
        return answers[0]

    @property
    def has_ended(self) -> bool:
        """Whether its worker was killed."""
        return self._process.ended

    def spawn(self, name: str, target: Callable[[], None]) -> None:
        """Run something in the worker's process."""
        self._process.spawn(name, target)

    def answer_safely(self, request: InternalRequest) -> RestResponse:
        """The answer; status 500, as of any web server, where the worker fails."""
        try:
            return self.answer(request)
        except Exception as why:  # noqa: BLE001 - whatever it is
            return RestResponse(500, json.dumps({"error_code": 500, "message": repr(why)}).encode())

    def close(self) -> None:
        """Answer no more, unless a later start of this worker has taken the address."""
        if self._network.servers.get(self.url) is self:
            super().close()
