"""What only another worker may do is forwarded there: to workers alone, and over two hops at most."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from eosfw.errors import BadRequestError, NotAssignedError, NotLeaderError, RetriableError
from eosfw.protocols import RestResponse
from eosfw.protocols.herder import WorkerHealth
from eosfw_rest.error_mapping import NO_LEADER, TOO_MANY_HOPS
from eosfw_rest.herder_request_handler import HerderRequestHandler
from eosfw_rest.messages import RestRequest
from eosfw_rest.resources import connectors, internal
from eosfw_rest.rest_client import RestClient, worker_url_problem
from eosfw_rest.server import ConnectRestServer

from .in_memory_herder import InMemoryHerder
from .raw_http import exchange, request
from .test_hostile_requests import body, properties

LEADER = "http://leader:8083"


class RecordedSends:
    """The way to another worker, which answers what it is told to."""

    def __init__(self, response: RestResponse) -> None:
        self.response = response
        self.sent: list[tuple[object, ...]] = []

    def __call__(self, *request: object) -> RestResponse:
        self.sent.append(request)
        return self.response


def deletion(target: str = "/connectors/c1", **query: list[str]) -> RestRequest:
    return RestRequest("DELETE", target, {"connector": "c1"}, query, {"authorization": "Bearer x", "cookie": "y"}, b"")


def follower(url: str | None = LEADER) -> InMemoryHerder:
    """A herder that follows a leader at that URL."""

    def follow(_: str) -> None:
        raise NotLeaderError("not the leader", url)

    herder = InMemoryHerder()
    herder.before = follow
    return herder


def forwarded(request: RestRequest, herder: InMemoryHerder, response: RestResponse | None = None):
    sends = RecordedSends(response or RestResponse(204, b"", {"set-cookie": "z", "content-type": "text/plain"}))
    return HerderRequestHandler(sends).answer(connectors.delete, request, herder, forwards=True), sends.sent


def test_a_follower_forwards_a_request_to_the_leader_once():
    """SEC-04: with the user's authorization, and no other header; the leader may forward once more."""
    answer, sent = forwarded(deletion("/connectors/c1?x=%26y", x=["&y"]), follower())

    assert sent == [
        ("DELETE", f"{LEADER}/connectors/c1?x=%26y&forward=true", b"", {"authorization": "Bearer x"}, 90.0),
    ]
    assert (answer.status, answer.body, answer.headers) == (204, None, {"Content-Type": "text/plain"})


def test_a_forwarded_request_is_forwarded_once_more_and_no_further():
    """SEC-04: workers that take each other for the leader do not forward for ever."""
    _, sent = forwarded(deletion("/connectors/c1?forward=true", forward=["true"]), follower())
    answer, not_sent = forwarded(deletion("/connectors/c1?forward=false", forward=["false"]), follower())

    assert [one[1] for one in sent] == [f"{LEADER}/connectors/c1?forward=false"]
    assert (answer.status, answer.body["message"], not_sent) == (409, TOO_MANY_HOPS, [])


def test_without_a_leader_a_request_is_a_conflict():
    answer, sent = forwarded(deletion(), follower(None))

    assert (answer.status, answer.body["message"], answer.headers, sent) == (409, NO_LEADER, {"Retry-After": "1"}, [])


@pytest.mark.parametrize("target", ["/connectors/c1", "/connectors/c1?forward=false"])
def test_a_conflict_of_a_worker_in_trouble_says_what_the_trouble_is(target: str):
    """A rebalance passes by itself; a cluster that is away may not."""
    herder = follower(None)
    herder.health = lambda: WorkerHealth("unhealthy", "Worker was unable to handle this request. Nobody answers.")

    answer, _ = forwarded(deletion(target, forward=["false"] if "?" in target else []), herder)

    assert (answer.status, answer.headers) == (409, {"Retry-After": "1"})
    assert answer.body["message"].endswith(" Worker was unable to handle this request. Nobody answers.")


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254", "http://[fe80::1]:80", "http://0.0.0.0:8083", "http://224.0.0.1", "file:///etc/passwd",
     "http://user@leader", "http://leader/latest/meta-data", "http://leader?x=", "gopher://leader:1", "http://", "x",
     "http://leader:99999", "http://[::ffff:169.254.169.254]", "http://2852039166"],
)  # fmt: skip
def test_a_request_is_never_forwarded_to_what_is_no_worker(url):
    """A member of the group chooses the URL under which it is known."""
    answer, sent = forwarded(deletion(), follower(url))

    assert (answer.status, sent) == (409, [])


@pytest.mark.parametrize(
    "url", ["http://leader:8083", "https://leader/", "http://127.0.0.1:1", "http://[::1]:8083", "http://10.0.0.7:8083"]
)
def test_a_worker_may_be_at_any_host_and_port(url):
    assert worker_url_problem(url) is None


def test_a_signed_request_is_not_forwarded():
    """Its signature holds for this path alone: the worker that sent it looks for the leader anew."""
    sends = RecordedSends(RestResponse(204, b""))
    herder = follower()
    herder.fence_zombies = lambda *_: herder.before("fence")
    sent = RestRequest("PUT", "/connectors/c1/fence", {"connector": "c1"})

    answer = HerderRequestHandler(sends).answer(internal.fence, sent, herder, forwards=False)

    assert (answer.status, sends.sent) == (409, [])


def test_a_leader_that_does_not_answer_is_an_error_of_the_server():
    def fail(*_: object) -> RestResponse:
        raise RetriableError("DELETE http://leader:8083 got no answer")

    answer = HerderRequestHandler(fail).answer(connectors.delete, deletion(), follower(), forwards=True)

    assert (answer.status, answer.body["error_code"]) == (500, 500)


def test_a_leader_that_is_gone_is_a_conflict(server):
    """Nothing was sent, so the client may ask again when there is another leader."""
    gone = server.url
    server.close()

    answer = HerderRequestHandler(client().request).answer(connectors.delete, deletion(), follower(gone), forwards=True)

    assert (answer.status, answer.body["message"]) == (409, NO_LEADER)


# --- over the wire


@pytest.fixture
def leader_and_follower(started, herder):
    """Two workers; the second knows the first as its leader."""
    leader = started()
    second = started()
    second.serve(follower(leader.url))
    return leader, second


def test_any_worker_answers_what_only_the_leader_may_do(leader_and_follower, herder):
    _, second = leader_and_follower
    address = second.url.removeprefix("http://")

    created = exchange(address, request("POST", "/connectors", body(properties())))
    again = exchange(address, request("POST", "/connectors", body(properties())))

    assert created[0] == 201
    assert list(herder.stored) == ["c1"]
    assert again == (409, {"error_code": 409, "message": "Connector c1 already exists"})


def test_a_task_of_another_worker_is_restarted_there(started, herder):
    leader = started()
    exchange(leader.url.removeprefix("http://"), request("POST", "/connectors", body(properties())))
    second = started()
    elsewhere = InMemoryHerder()

    def not_mine(_: str) -> None:
        raise NotAssignedError("another worker runs it", leader.url)

    elsewhere.before = not_mine
    second.serve(elsewhere)

    sent = request("POST", "/connectors/c1/tasks/0/restart")
    assert exchange(second.url.removeprefix("http://"), sent)[0] == 204


# --- the client


def client() -> RestClient:
    return RestClient(time.monotonic)


def test_the_client_sends_what_it_is_given(server: ConnectRestServer, herder):
    headers = {"X-Connect-Authorization": "c2ln"}

    answered = server.request("POST", f"{server.url}/connectors/c1/tasks?x=1", b'[{"a": "b"}]', headers, 10.0)

    (received,) = herder.internal_requests
    assert (answered.status, answered.body) == (204, b"")
    assert (received.path, received.body) == ("/connectors/c1/tasks?x=1", b'[{"a": "b"}]')


def test_the_client_gives_up_at_its_deadline_however_the_other_side_dawdles(free_port_listener):
    """A byte now and then does not prolong it."""
    url = free_port_listener(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", trickle=True)

    with pytest.raises(RetriableError, match="got no answer"):
        client().request("GET", url, b"", {}, 0.5)


def test_an_answer_that_ends_early_is_no_answer(free_port_listener):
    """A worker that is killed while it answers: half of a list would pass for all of it."""
    url = free_port_listener(b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n["c1", ')

    with pytest.raises(RetriableError, match=r"got no answer.*IncompleteRead"):
        client().request("GET", url, b"", {}, 10.0)


def test_the_client_follows_no_redirect(free_port_listener):
    """A redirect is an answer like others."""
    url = free_port_listener(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n")

    assert client().request("GET", url, b"", {}, 10.0).status == 302


def test_the_client_says_where_nobody_listens(server):
    url = server.url
    server.close()

    with pytest.raises(RetriableError, match=url):
        client().request("GET", f"{url}/", b"", {}, 5.0)


def test_the_client_calls_no_address_of_a_metadata_service():
    with pytest.raises(BadRequestError, match="no URL of a worker"):
        client().request("GET", "http://169.254.169.254/latest", b"", {}, 5.0)


def test_the_client_sends_nothing_to_a_name_of_a_metadata_service(free_port_listener, monkeypatch):
    """A name can change its address between any two looks, so the connection itself is looked at."""
    url = free_port_listener(b"HTTP/1.1 200 OK\r\n\r\n")
    monkeypatch.setattr(socket.socket, "getpeername", lambda _: ("169.254.169.254", 80))

    with pytest.raises(RetriableError, match="no worker listens at a link-local"):
        client().request("GET", url, b"secret", {}, 5.0)


@pytest.fixture
def free_port_listener():
    """Answer one connection with given bytes, and then with a byte now and then."""
    opened = []

    def listen(answer: bytes, *, trickle: bool = False) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        opened.append(listening)

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)
                for _ in range(60 if trickle else 0):
                    time.sleep(0.05)
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    threads: list[threading.Thread] = []
    yield listen
    for thread in threads:
        thread.join(10)
    for one in opened:
        one.close()
