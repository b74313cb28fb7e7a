"""Lines of `sasl.jaas.config`."""

from __future__ import annotations

import pytest

from eosfw.config.jaas import JaasError, parse_jaas


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("a.B required;", {}),
        ('a.B required username="alice" password="x";', {"username": "alice", "password": "x"}),
        ("a.B Required\n p='it''s;' ;", None),
        ('a.B required p="a;b=c d" q=plain ;', {"p": "a;b=c d", "q": "plain"}),
        (r'a.B optional p="say \"yes\" \\" ;', {"p": 'say "yes" \\'}),
        ("a.B required p='single \"double\"';", {"p": 'single "double"'}),
        ('a.B required p = "blanks" ;', {"p": "blanks"}),
        ('a.B required p="";', {"p": ""}),
        ('a.B required p="no end', None),
        ('a.B required p="x"', None),
        ('a.B p="x";', None),
        ('a.B required p="x"; c.D required;', None),
        ("a.B required p==x;", None),
        ("", None),
    ],
)
def test_options_are_read_as_java_reads_them_and_a_wrong_line_is_refused_without_it(line, options):
    """SEC-22."""
    if options is None:
        with pytest.raises(JaasError) as refused:
            parse_jaas(line)
        assert "x" not in str(refused.value).replace("expected", "")
    else:
        entry = parse_jaas(line)
        assert (entry.login_module, dict(entry.options)) == ("a.B", options)
        assert all(not text or text not in repr(entry) for text in options.values())


def test_a_long_wrong_line_is_refused_at_once():
    """No pattern that tries every way to read it."""
    with pytest.raises(JaasError):
        parse_jaas("a.B required " + 'p="x" ' * 20_000 + "=")
