"""Requests log in, and secrets go where they belong alone."""

from __future__ import annotations

import json
import logging
from base64 import b64encode

import pytest

from eosfw.errors import ConfigError, DamagedDataError, EosfwError, RetriableError

from .reading import properties, reading
from .served_api import Reply, ServedApi, served

SECRET = "s3cret+/ text"
QUOTED = "s3cret%2B%2F%20text"
LOGINS = {
    "basic": {"connection_user": "me", "connection_password": SECRET},
    "bearer": {"bearer_token": SECRET},
    "api_key": {"api_key_value": SECRET},
    "query": {"auth_type": "api_key", "api_key_location": "query", "api_key_name": "key", "api_key_value": SECRET},
    "oauth2": {"oauth2_client_id": "me", "oauth2_client_secret": SECRET, "oauth2_client_scope": "read all"},
}
ALLOWS = {
    "basic": lambda asked: asked.headers.get("authorization") == basic("me", SECRET),
    "bearer": lambda asked: asked.headers.get("authorization") == f"Bearer {SECRET}",
    "api_key": lambda asked: asked.headers.get("x-api-key") == SECRET,
    "query": lambda asked: asked.parameters.get("key") == SECRET,
    "oauth2": lambda asked: asked.headers.get("authorization", "").startswith("Bearer token-"),
}


def basic(user, password):
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def login(api, kind, **more):
    url = api.url.replace("/rows", "/token")
    token = {"oauth2_token_url": url} if kind == "oauth2" else {}
    return properties(api.url, **({"auth_type": kind, "paging": "link"} | LOGINS[kind] | token | more))


@pytest.fixture
def api():
    with served(ServedApi([{"id": one} for one in range(10)])) as one:
        yield one


def failure(given):
    with reading(given) as task, pytest.raises(EosfwError) as raised:
        task.rest()
    return raised.value


@pytest.mark.parametrize("kind", LOGINS)
def test_every_request_logs_in(api, kind):
    """HTP-05: on the first page, and behind each link."""
    api.allows = ALLOWS[kind]
    with reading(login(api, kind)) as task:
        assert task.rest() == list(range(10))


def test_a_token_is_asked_for_as_oauth2_says(api):
    """HTP-05: RFC 6749, sections 2.3.1 and 4.4.2."""
    with reading(login(api, "oauth2")) as task:
        task.rest()
    assert api.asked[0].form == "grant_type=client_credentials&scope=read+all"
    assert api.asked[0].headers["authorization"] == basic("me", "s3cret%2B%2F+text")
    with reading(login(api, "oauth2", oauth2_client_auth_mode="url")) as task:
        task.rest()
    forms = [asked for asked in api.asked if asked.path == "/token"]
    assert forms[-1].form.endswith("&client_id=me&client_secret=s3cret%2B%2F+text")
    assert "authorization" not in forms[-1].headers


def test_a_token_is_renewed_before_it_ends(api):
    """HTP-05: and not before that."""
    api.token_lasts = 100
    with reading(login(api, "oauth2", poll_interval_ms=0)) as task:
        tokens = []
        for task.now in (0.0, 69.0, 71.0, 140.0, 142.0):
            task.poll()
            tokens.append(api.tokens)
    assert tokens == [1, 1, 2, 2, 3]


def test_a_token_that_is_refused_is_renewed_once(api):
    """HTP-05: as when the server has forgotten it; a second refusal is one."""
    api.token_lasts = 10**9
    with reading(login(api, "oauth2")) as task:
        found = task.poll()
        api.allows = lambda asked: asked.headers["authorization"] == "Bearer token-2"
        assert found + task.rest() == list(range(10))
        api.allows = lambda _: False
        with pytest.raises(ConfigError, match="401 Unauthorized"):
            task.rest()
    assert api.tokens == 3


@pytest.mark.parametrize(
    ("reply", "kind", "sentence"),
    [
        (
            Reply(401, None, {"error": "invalid_client"}),
            ConfigError,
            r"no token but 401 \(invalid_client\); correct it, o",
        ),
        (Reply(400, None, {"error": SECRET}), ConfigError, r"/token gave no token but 400; correct it, oauth2\.client"),
        (Reply(302, {"Location": "http://127.0.0.1:1/"}, b""), ConfigError, "gave no token but 302"),
        (Reply(503, {"Retry-After": "7"}, b""), RetriableError, "/token answered 503"),
        (Reply(body={"token": SECRET}), DamagedDataError, "/token gave no access_token"),
        (Reply(body={"access_token": "t\u00fc" + SECRET}), DamagedDataError, "/token gave no access_token"),
        (Reply(body=b"<html>" + SECRET.encode()), DamagedDataError, "/token gave no access_token"),
        (Reply(body=b"[" * 100_000), DamagedDataError, "/token gave no access_token"),
        (Reply(body=b" " * 2_000_000), DamagedDataError, "/token answered with more than 1048576 bytes"),
    ],
)
def test_a_server_of_tokens_that_gives_none_is_named(api, reply, kind, sentence):
    """HTP-05: with what to correct, or tried again."""
    api.replies = [reply]
    error = failure(login(api, "oauth2"))
    assert isinstance(error, kind)
    with pytest.raises(kind, match=sentence):
        raise error
    assert "s3cret" not in str(error)


@pytest.mark.parametrize("lasts", [None, "3600", "soon", -5, 1e400, [], 1])
def test_a_token_serves_whatever_is_said_of_its_end(api, lasts):
    """HTP-05: not all servers say it well."""
    api.token_lasts = lasts
    with reading(login(api, "oauth2")) as task:
        assert task.rest() == list(range(10))


@pytest.mark.parametrize("kind", LOGINS)
def test_secrets_stand_in_no_error_log_and_offset(api, kind, caplog):
    """HTP-09: also where the API repeats in its links what it was sent."""
    caplog.set_level(logging.INFO)
    with reading(login(api, kind), record_offsets=True) as task:
        assert len(task.rest()) == 10
        shown = json.dumps([task.offset, task.record_offsets])
    api.replies = [Reply(status, None, SECRET) for status in (400, 401, 403, 404, 302, 500)]
    errors = [str(failure(login(api, kind))) for _ in list(api.replies)]
    for text in (caplog.text, shown, *errors):
        assert not any(secret in text for secret in ("s3cret", "token-1", b64encode(SECRET.encode()).decode()))


@pytest.mark.parametrize("paging", ["link", "cursor"])
@pytest.mark.parametrize("form", [SECRET, QUOTED])
def test_a_place_that_holds_a_secret_is_refused(api, paging, form):
    """HTP-09: an offset is shown to everybody."""
    link = {"Link": f'</rows?offset=4&token={QUOTED}>; rel="next"'}
    api.replies = [Reply(200, link, {"data": {"rows": [{"id": 0}]}, "next": f"4 {form}"})]
    error = failure(login(api, "bearer", paging=paging))
    assert "has a secret of this connector" in str(error)
    assert "s3cret" not in str(error)


@pytest.mark.parametrize("kind", LOGINS)
@pytest.mark.parametrize("how", ["redirect", "link"])
def test_no_other_server_is_asked(api, kind, how):
    """HTP-09: whoever gets the next request gets the secrets in it."""
    with served(ServedApi([])) as other:
        there = other.url + "?offset=4"
        moved = Reply(302, {"Location": there}, b"")
        linked = Reply(200, {"Link": f'<{there}>; rel="next"'}, {"data": {"rows": [{"id": 0}]}})
        token = [Reply(body={"access_token": "token-1"})] if kind == "oauth2" else []
        api.replies = [*token, moved if how == "redirect" else linked]
        error = failure(login(api, kind))
        assert not other.asked
    assert ("redirections are not followed" if how == "redirect" else "leads to another server") in str(error)


def test_a_link_whose_path_looks_like_a_server_is_a_path(api):
    """HTP-09: `//host` in a source offset is no other server, whoever wrote it."""
    with served(ServedApi([])) as other:
        there = other.url.removeprefix("http:")
        api.replies = [
            Reply(
                200, {"Link": f'<{api.url.removesuffix("/rows")}{there}>; rel="next"'}, {"data": {"rows": [{"id": 0}]}}
            )
        ]
        with reading(login(api, "bearer")) as task:
            task.poll()
            task.poll()
        with reading(login(api, "bearer"), {"link": there}) as task:
            task.poll()
        assert not other.asked
    assert [asked.path for asked in api.asked] == ["/rows", there[1:], there[1:]]  # its server takes one slash off
