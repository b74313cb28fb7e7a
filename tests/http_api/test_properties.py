"""Properties that are wrong by themselves are one sentence each."""

from __future__ import annotations

import pytest

from eosfw.errors import ConfigError
from eosfw_http.connector import HttpSourceConnector


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"url": "s3cret"}, "url: this is no URL; write one such as https://"),
        ({"url": "ftp://host/s3cret"}, "url: this is no URL"),
        ({"url": "http://[s3cret"}, "url: this is no URL"),
        ({"url": "http://s3cret host/"}, "url: this is no URL"),
        ({"url": "http://s3cret:99999/"}, "url: this is no URL"),
        ({"url": "http://" + "s3cret" * 20}, "url: this is no URL"),
        ({"url": "https://me:s3cret@host/"}, "url: it is shown, so leave user, password and query out"),
        ({"url": "https://host/?key=s3cret"}, "url: it is shown, so leave user, password and query out"),
        ({"paging": "cursor"}, "cursor.path: paging = cursor needs it; set it"),
        ({"paging": "page"}, "page.size: paging = page needs it; set it"),
        ({"page.size.parameter": "limit"}, "page.size: page.size.parameter needs it; set it"),
        ({"incremental.path": "changed"}, "incremental.parameter: incremental.path needs it; set it"),
        ({"incremental.parameter": "since"}, "incremental.path: incremental.parameter needs it; set it"),
        ({"incremental.overlap": "1"}, "incremental.parameter: incremental.overlap needs it; set it"),
        ({"auth.type": "basic", "connection.user": "me"}, "connection.password: auth.type = basic needs it; set it"),
        (
            {"auth.type": "basic", "connection.user": "m:e", "connection.password": "s3cret"},
            "connection.user: the name of a user of auth.type = basic has no colon",
        ),
        ({"auth.type": "bearer"}, "bearer.token: auth.type = bearer needs it; set it"),
        ({"auth.type": "bearer", "bearer.token": "s3cret\u00fc"}, "bearer.token: it has characters that no header can"),
        (
            {"auth.type": "bearer", "bearer.token": "s3\ncret"},
            "bearer.token: it has characters that no header can hold",
        ),
        ({"auth.type": "api_key", "api.key.value": "s3\x00cret"}, "api.key.value: it has characters that no header"),
        (
            {"auth.type": "api_key", "api.key.value": "s3cret", "api.key.name": "a b"},
            "api.key.name: this is no name of",
        ),
        (
            {"auth.type": "oauth2", "oauth2.client.id": "me", "oauth2.client.secret": "s3cret"},
            "oauth2.token.url: auth.ty",
        ),
        (
            {
                "auth.type": "oauth2",
                "oauth2.client.id": "me",
                "oauth2.client.secret": "s3cret",
                "oauth2.token.url": "https://host/?s3cret",
            },
            "oauth2.token.url: it is shown",
        ),
    ],
)
def test_bad_properties_are_one_sentence_each(given, sentence):
    """HTP-11: before anything starts, without the text of what may be a secret."""
    config = HttpSourceConnector.config.parse({"topic": "t", "url": "https://host/", **given})
    (problem,) = HttpSourceConnector().problems(config)
    assert str(problem).startswith(sentence)
    assert "s3cret" not in str(problem)


@pytest.mark.parametrize("path", ["a..b", "a[", "a[b]", "['a", "a]b"])
def test_a_path_that_is_none_is_refused(path):
    """HTP-11: by the definition of the property."""
    with pytest.raises(ConfigError, match=r"records\.path.*Expected a path such as data\.items"):
        HttpSourceConnector.config.parse({"topic": "t", "url": "https://host/", "records.path": path})
