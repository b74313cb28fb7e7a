"""Who a client is taken for."""

from __future__ import annotations

import pytest

from eosfw_memory.server.security.principal import ANONYMOUS, principal_of_certificate


@pytest.mark.parametrize(
    ("subject", "principal"),
    [
        ((), "User:"),
        (
            ((("organizationName", "eosfw"),), (("organizationalUnitName", "tests"),), (("commonName", "alice"),)),
            "User:CN=alice,OU=tests,O=eosfw",
        ),
        (((("commonName", 'a,b="c" #1;'),),), 'User:CN=a\\,b\\=\\"c\\" \\#1\\;'),
        (((("commonName", "é"),), (("emailAddress", "a@b.c"),)), "User:1.2.840.113549.1.9.1=#16056140622e63,CN=é"),
        (((("emailAddress", "a" * 300),),), f"User:1.2.840.113549.1.9.1=#1682012c{'61' * 300}"),
        (((("emailAddress", "a" * 128),),), f"User:1.2.840.113549.1.9.1=#168180{'61' * 128}"),
        (((("commonName", "  x "),),), "User:CN=\\ \\ x\\ "),
        (((("commonName", "x"), ("userId", "u")), (("domainComponent", "org"),)), "User:DC=org,CN=x+UID=u"),
    ],
)
def test_the_owner_of_a_certificate_is_named_as_java_names_him(subject, principal):
    """ACL-14: RFC 2253, the last part first."""
    assert principal_of_certificate({"subject": subject}) == principal


def test_whoever_shows_no_certificate_is_anonymous():
    """ACL-14."""
    assert [principal_of_certificate(each) for each in (None, {})] == [ANONYMOUS, ANONYMOUS]
