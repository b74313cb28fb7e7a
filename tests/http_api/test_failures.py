"""What keeps an API from being read is retried where it passes, and is one sentence with what to do where not."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from datetime import UTC, datetime

import httpx2
import pytest

from eosfw.errors import ConfigError, DamagedDataError, EosfwError, RetriableError
from eosfw_http.connector import HttpSourceConnector
from eosfw_http.errors import refusal
from ports import free_port

from .reading import properties, reading
from .served_api import Reply, ServedApi, served

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RESET = str(int(NOW.timestamp()) + 90)
SINCE = {"incremental_path": "changed", "incremental_parameter": "since"}


@pytest.fixture
def api():
    with served(ServedApi([{"id": one} for one in range(10)])) as one:
        yield one


def first_failure(given):
    with reading(given) as task, pytest.raises(EosfwError) as raised:
        task.poll()
    return raised.value


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_what_passes_by_itself_is_retried(api, status):
    """HTP-06: after pauses that double, up to the longest; behind an answer they begin anew."""
    api.replies = [Reply(status)] * 4
    with reading(properties(api.url, retry_backoff_ms=100, retry_backoff_max_ms=300)) as task:
        pauses = []
        for _ in range(4):
            with pytest.raises(RetriableError, match=f"/rows answered {status}") as raised:
                task.poll()
            pauses.append(raised.value.retry_after)
        assert task.rest() == list(range(10))
        api.replies = [Reply(status)]
        task.now += 3600
        with pytest.raises(RetriableError) as raised:
            task.poll()
        assert not task.task.at_end()
    assert [*pauses, raised.value.retry_after] == [0.1, 0.2, 0.3, 0.3, 0.1]


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (400, "query.parameters: http://127.0.0.1:{}/rows answered 400 Bad Request; correct the parameters"),
        (401, "auth.type: http://127.0.0.1:{}/rows answered 401 Unauthorized; give what it asks for by auth.type"),
        (403, "auth.type: http://127.0.0.1:{}/rows answered 403 Forbidden; give the user the right to read"),
        (404, "url: http://127.0.0.1:{}/rows answered 404 Not Found; correct the URL"),
        (410, "url: http://127.0.0.1:{}/rows answered 410 Gone; what was asked for is gone"),
        (418, "query.parameters: http://127.0.0.1:{}/rows answered 418 I'm a Teapot; correct the parameters"),
        (301, "url: http://127.0.0.1:{}/rows answered 301 Moved Permanently; redirections are not followed"),
        (304, "url: http://127.0.0.1:{}/rows answered 304 Not Modified; redirections are not followed"),
        (206, "query.parameters: http://127.0.0.1:{}/rows answered 206 Partial Content; correct"),
    ],
)
def test_what_does_not_pass_is_refused(api, status, sentence):
    """HTP-06: by the task and by the check, with the property to correct; what the body says is not shown."""
    api.replies = [Reply(status, None, b"" if status == 304 else b"s3cret")] * 2
    error = first_failure(properties(api.url))
    assert isinstance(error, ConfigError)
    assert sentence.format(api.url.split(":")[2].split("/")[0]) in str(error)
    (problem,) = HttpSourceConnector().check(HttpSourceConnector.config.parse(properties(api.url)))
    assert "s3cret" not in str(error) + str(problem)


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"Retry-After": "7"}, 7),
        (503, {"Retry-After": "0"}, 0),
        (429, {"Retry-After": "Thu, 01 Jan 2026 00:01:30 GMT"}, 90),
        (429, {"Retry-After": "Thu, 01 Jan 2026 01:01:30 +0100"}, 90),
        (429, {"Retry-After": "Wed, 31 Dec 2025 00:00:00 GMT"}, 0),
        (503, {"Retry-After": "9" * 400}, 86400),
        (503, {"Retry-After": "Thu, 01 Jan 9999 00:00:00 GMT"}, 86400),
        (503, {"Retry-After": "soon"}, None),
        (503, {"Retry-After": "-1"}, None),
        (503, {"Retry-After": "Thu, 99 Jan 99999 00:00:00 GMT"}, None),
        (429, {"X-RateLimit-Reset": RESET}, 90),
        (429, {"RateLimit-Reset": "30"}, 30),
        (429, {"Retry-After": "7", "RateLimit-Reset": "30"}, 7),
        (429, {"X-RateLimit-Reset": "never"}, None),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": RESET}, 90),
        (403, {"RateLimit-Remaining": "0", "RateLimit-Reset": "30"}, 30),
        (503, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": RESET}, 90),
        (502, {"X-RateLimit-Remaining": "4990", "X-RateLimit-Reset": RESET}, None),
        (500, {"RateLimit-Reset": "3000"}, None),
        (403, {"Retry-After": "60"}, 60),
    ],
)
def test_how_long_to_wait_is_what_the_api_says(status, headers, seconds):
    """HTP-06: by Retry-After, in seconds or as a date, or by its rate limit; at most a day."""
    error = refusal(httpx2.Response(status, headers=headers), "http://api", NOW)
    assert isinstance(error, RetriableError)
    assert error.retry_after == seconds


def test_what_the_api_says_goes_before_the_back_off(api):
    """HTP-06: however long it is."""
    api.replies = [Reply(429, {"Retry-After": "120"})]
    error = first_failure(properties(api.url))
    assert isinstance(error, RetriableError)
    assert error.retry_after == 120


def test_a_wait_of_no_time_becomes_longer_as_without_one(api):
    """HTP-06: some APIs answer `Retry-After: 0` again and again, and must not be asked without a pause."""
    api.replies = [Reply(503, {"Retry-After": "0"})] * 3
    pauses = []
    with reading(properties(api.url, retry_backoff_ms=100, retry_backoff_max_ms=300)) as task:
        for _ in range(3):
            with pytest.raises(RetriableError) as raised:
                task.poll()
            pauses.append(raised.value.retry_after)
    assert pauses == [0.1, 0.2, 0.3]


def test_a_server_that_is_down_is_retried(api):
    """HTP-06: one that refuses connections, and one that ends in the middle of an answer."""
    nowhere = f"http://127.0.0.1:{free_port()}/rows"
    error = first_failure(properties(nowhere))
    assert str(error) == f"{nowhere} does not answer: [Errno 111] Connection refused"
    cut = json.dumps({"data": {"rows": [{"id": 1}]}}).encode()[:-5]
    said = ("cut its answer off", "answered with what is no JSON, or with a part of it; if it stays so, correct url")
    for headers, words in zip(({"Content-Length": "100"}, {"Content-Length": ""}), said, strict=True):
        api.replies = [Reply(200, headers, cut)]
        error = first_failure(properties(api.url))
        assert isinstance(error, RetriableError)
        assert str(error) == f"{api.url} {words}"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "closed the connection without an answer"),
        (b"s3cret\r\n\r\n", "answered with what is no HTTP"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\ns3cret",
            "answered with what cannot be decompressed",
        ),
    ],
)
def test_what_a_server_does_in_the_place_of_an_answer_is_said(answer, words):
    """HTP-06: in words, without any of what it sent; it is asked again."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            peer, _ = server.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/rows"
        error = first_failure(properties(url))
        thread.join()
    assert isinstance(error, RetriableError)
    assert str(error) == f"{url} {words}"


def test_an_answer_that_never_ends_is_given_up(api):
    """HTP-06: even if each of its bytes comes in time."""
    ended = threading.Event()

    def drip(server, task):
        peer, _ = server.accept()
        with peer:
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while not ended.wait(0.01):
                task.now += 1
                try:
                    peer.sendall(b" ")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/rows"
        with reading(properties(url, request_timeout_ms=30_000)) as task:
            thread = threading.Thread(target=drip, args=(server, task))
            thread.start()
            with pytest.raises(RetriableError, match="did not end its answer within request"):
                task.poll()
        ended.set()
        thread.join()


def test_requests_keep_their_distance(api):
    """HTP-06: `request.interval.ms` between pages, `poll.interval.ms` where there is nothing new."""
    with reading(properties(api.url, "cursor", request_interval_ms=2000, poll_interval_ms=5000)) as task:
        found, asked = [], []
        for task.now in (0.0, 1.9, 2.1, 4.0, 4.2, 6.3, 8.4, 11.2, 11.4):
            found += task.poll()
            asked.append(len(api.asked))
    assert asked == [1, 1, 2, 2, 3, 4, 4, 4, 5]
    assert found == list(range(10))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"<html>s3cret</html>", "answered with what is no JSON; correct url"),
        (b"", "answered with what is no JSON; correct url"),
        (b"[" * 9_000, "answered with what is no JSON; correct url"),
        (b'{"data": {"rows": [{"id": NaN}]}}', "answered with what is no JSON; correct url"),
        (b'{"data": {"rows": [{"id": 1e999}]}}', "answered with what is no JSON; correct url"),
        (b'{"data": {"rows": [{"id": ' + b"9" * 5000 + b"}]}}", "answered with what is no JSON; correct url"),
        (b"\xff\xfe\x00", "answered with what is no JSON; correct url"),
        (b'{"data": {"rows": {"id": "s3cret"}}}', "has no list of objects at data.rows; correct records.path"),
        (b'{"data": {"rows": ["s3cret"]}}', "has no list of objects at data.rows; correct records.path"),
        (b'{"data": ["s3cret"]}', "has no list of objects at data.rows; correct records.path"),
        (b"null", "has no list of objects at data.rows; correct records.path"),
        (b'{"data": {"rows": [{}]}}', "a record has no key at id; correct key.path"),
        (b" " * 10_001, "answered with more than 10000 bytes; ask for smaller pages, or raise response.max.bytes"),
    ],
)
def test_an_answer_that_is_no_page_is_refused_without_its_text(api, body, sentence):
    """HTP-08: whatever it says it is."""
    api.replies = [Reply(200, {"Content-Type": "application/json"}, body)]
    error = first_failure(properties(api.url, "offset", key_path="id", response_max_bytes=10_000))
    assert isinstance(error, DamagedDataError)
    assert sentence in str(error)
    assert "s3cret" not in str(error)


def test_an_answer_that_grows_when_it_is_decompressed_is_refused(api):
    """HTP-08: the limit counts what takes memory; bytes that are not compressed as said are retried."""
    api.replies = [Reply(200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * 1_000_000))]
    error = first_failure(properties(api.url, response_max_bytes=10_000))
    assert "more than 10000 bytes" in str(error)
    api.replies = [Reply(200, {"Content-Encoding": "gzip"}, b"no gzip")]
    assert isinstance(first_failure(properties(api.url)), RetriableError)


@pytest.mark.parametrize(
    ("more", "headers", "paging", "sentence"),
    [
        ({"next": True}, {}, "cursor", "next of an answer is neither text nor number; correct cursor.path"),
        ({"next": {"id": "s3cret"}}, {}, "cursor", "next of an answer is neither text nor number; correct cursor.path"),
        ({"next": "\ud800s3cret"}, {}, "cursor", "cannot be a part of a URL"),
        ({"next": "s3cret" * 20_000}, {}, "cursor", "cannot be a part of a URL"),
        ({"link": ["s3cret"]}, {}, "link.path", "link of an answer is no text; correct link.path"),
        ({"link": "http://[s3cret"}, {}, "link.path", "leads to another server, which is not asked; correct url"),
        ({"link": "http://[::s3cret"}, {}, "link.path", "the link to the next page is no URL"),
        ({"link": "/rows?\ud800"}, {}, "link.path", "the link to the next page is no URL"),
        ({}, {"Link": '<http://a:b/>; rel="next"'}, "link", "the link to the next page is no URL"),
        (
            {},
            {"Link": '<ftp://s3cret/>; rel="next"'},
            "link",
            "leads to another server, which is not asked; correct url",
        ),
        ({}, {"Link": '</\u00e9?a=b>; rel="next"'}, "link", None),
        ({}, {"Link": ";;<,=;rel=next"}, "link", None),
        ({}, {"ETag": '"\u00e9"', "Last-Modified": "\u00e9"}, "none", None),
    ],
)
def test_a_next_page_that_is_none_is_refused(api, more, headers, paging, sentence):
    """HTP-08: never with a trace, nor with the text of the answer."""
    api.replies = [Reply(200, headers, {"data": {"rows": [{"id": 1}]}} | more)]
    with reading(properties(api.url, paging)) as task:
        if sentence is None:
            assert task.rest()
            task.rest()
            return
        with pytest.raises(DamagedDataError) as raised:
            task.rest()
    assert sentence in str(raised.value)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("bookmark", [None, True, ["s3cret"], {}])
def test_a_record_without_a_bookmark_is_refused(api, bookmark):
    """HTP-08: without its value; so are those that cannot be compared."""
    api.records = [{"id": 0, "changed": bookmark}]
    api._page = lambda _: Reply(body={"data": {"rows": api.records}})
    error = first_failure(properties(api.url, **SINCE))
    assert str(error) == "a record has neither number nor text at changed; correct incremental.path"
    api.records = [{"id": 0, "changed": 1}, {"id": 1, "changed": "s3cret"}]
    error = first_failure(properties(api.url, **SINCE))
    assert "values at changed that cannot be compared" in str(error)
    assert "s3cret" not in str(error)


def test_a_record_may_be_nested_as_deep_as_json_can_be_read(api):
    """HTP-08: and deeper ones are refused, wherever that shows."""
    refused = []
    for depth in range(10, 1200, 10):
        nested = b"[" * depth + b"]" * depth
        api._page = lambda _, text=nested: Reply(
            body=b'{"data": {"rows": [{"id": 1, "changed": 1, "x": ' + text + b"}]}}"
        )
        with reading(properties(api.url, "offset", **SINCE)) as task:
            try:
                task.poll()
            except DamagedDataError:
                refused.append(depth)
    assert refused == list(range(min(refused, default=1200), 1200, 10))


@pytest.mark.parametrize(
    ("paging", "offset", "sentence"),
    [
        ("page", {"offset": "s3cret"}, "has no whole number 'offset': reset"),
        ("page", {"offset": -1}, "has no whole number 'offset': reset"),
        ("offset", {"offset": True}, "has no whole number 'offset': reset"),
        ("cursor", {"cursor": "a", "record": 1.5}, "has no whole number 'record': reset"),
        ("cursor", {"cursor": "\ud800s3cret"}, "cannot be a part of a URL"),
        ("link", {"link": "s3cret"}, "cannot be a part of a URL"),
        ("link", {"link": ["s3cret"]}, "cannot be a part of a URL"),
        ("link", {"link": "/\u00e9s3cret"}, "cannot be a part of a URL"),
        ("link", {"cursor": "s3cret"}, "made with another paging"),
        ("since", {"bookmark.path": "changed", "bookmark": 1, "rows": "s3cret"}, "has no hashes at 'rows': reset"),
        ("since", {"bookmark.path": "id", "bookmark": 1}, "made with another paging or incremental.path"),
    ],
)
def test_an_offset_that_a_user_has_spoiled_is_refused(api, paging, offset, sentence):
    """HTP-08: when it is altered, and by the task."""
    given = properties(api.url, "page", **SINCE) if paging == "since" else properties(api.url, paging)
    connector = HttpSourceConnector()
    with pytest.raises(DamagedDataError) as refused:
        connector.alter_offsets(connector.config.parse(given), [({"url": api.url}, offset)])
    with pytest.raises(DamagedDataError) as raised, reading(given, offset) as task:
        task.poll()
    assert sentence in str(raised.value)
    assert str(refused.value) == str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_offsets_are_altered_for_the_url_alone(api):
    """HTP-08: any place that the connector itself could have given is one, and none."""
    connector = HttpSourceConnector()
    config = connector.config.parse(properties(api.url, "offset"))
    assert connector.alter_offsets(config, [({"url": api.url}, {"offset": 3}), ({"url": api.url}, None)])
    with pytest.raises(DamagedDataError, match="the only source partition of this connector"):
        connector.alter_offsets(config, [({"url": "https://s3cret"}, {"offset": 3})])


def test_the_offset_of_a_url_that_the_connector_had_before_can_be_forgotten(api):
    """HTP-08: all offsets are reset at once, and nobody else could tidy that one up."""
    config = HttpSourceConnector.config.parse(properties(api.url, "offset"))

    assert HttpSourceConnector().alter_offsets(config, [({"url": "https://before"}, None), ({"url": api.url}, None)])


def test_an_api_without_news_is_asked_whether_it_has_changed(api):
    """HTP-07: by ETag; what has changed is read."""
    api.caches = True
    with reading(properties(api.url, "link")) as task:
        assert task.rest() == list(range(10))
        tags = [asked.headers.get("if-none-match") for asked in api.asked]
        assert task.rest() == []
        assert api.asked[-1].headers["if-none-match"].startswith('"')
        api.records.append({"id": 10})
        assert task.rest() == [10]
    assert tags[:3] == [None] * 3


@pytest.mark.parametrize(
    ("modified", "date", "asks"),
    [
        ("Thu, 01 Jan 2026 00:00:00 GMT", "Thu, 01 Jan 2026 00:00:01 GMT", True),
        ("Thu, 01 Jan 2026 00:00:00 GMT", "Thu, 01 Jan 2026 00:00:00 GMT", False),
        ("Thu, 01 Jan 2026 00:00:00 GMT", "today", False),
        ("Thu, 01 Jan 2026 00:00:00", "Thu, 01 Jan 2026 00:00:09 GMT", False),
        ("yesterday", "Thu, 01 Jan 2026 00:00:01 GMT", False),
    ],
)
def test_a_time_of_change_is_asked_for_unless_more_may_change_in_its_second(modified, date, asks):
    """HTP-07: RFC 9110, section 8.8.2.2; else a record that came in the same second would stay unread."""
    asked = []

    def answer(request):
        asked.append(request.headers.get("if-modified-since"))
        return httpx2.Response(200, headers={"Last-Modified": modified, "Date": date}, json=[])

    with pytest.MonkeyPatch.context() as patch:
        client = httpx2.Client
        patch.setattr(httpx2, "Client", lambda **_: client(transport=httpx2.MockTransport(answer)))
        with reading(properties("http://api", "offset", records_path="")) as task:
            task.rest()
            task.rest()
    assert asked == [None, modified if asks else None]
