"""The contract of connectors whose sources grow finds what gets lost or changed when something comes later."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest

from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.environment.diagnostics.first_cause import first_line

pytest_plugins = ("pytester",)
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again
TEMPLATE = """\
import pytest
from tests.pytest_eos import growing
from pytest_eos.contracts import GrowingSourceContract, Source

class TestIt(GrowingSourceContract):
    @pytest.fixture
    def source(self, tmp_path):
        log = tmp_path / "log"
        log.write_text(growing.BEGIN)

        def grow():
            with log.open("a") as file:
                file.write({more})

        return Source(growing.{connector}, {{"path": log}}, {arguments})
"""
CASES = {
    "HalfLines": "*read before the source grew is not there any more *: * number 2 is b'3 pa' *, not b'3 part' *",
    "PastTheEnd": "*at its end when the source grew does not go on with *: * number 2 is b'rt' *, not b'3 part'*",
    "LaterTimes": "*at its end when the source grew does not go on with *: * number 3 is b'4 d' *, not b'2 late' *",
    "StartsBehind": "resumed behind {'position': 8} of *, it does not go on with what came: number 0 is b'2 late' *",
}


def run(
    pytester, connector, tests="what_comes_later", arguments="grow=grow", begin="growing.BEGIN", more="growing.MORE"
):
    """Run these tests of the contract with a connector of `growing`."""
    pytester.makepyfile(TEMPLATE.format(connector=connector, arguments=arguments, more=more))
    return pytester.inline_run("-pno:cacheprovider", "-k", tests, "--tb=short")


@pytest.mark.parametrize("connector", CASES)
def test_what_a_growing_source_shows_is_found_with_a_witness(pytester, connector):
    """A planted bug each, which the same source shows to nobody while it stands still."""
    failed = run(pytester, connector).getfailures()

    assert failed
    assert fnmatch(first_line(failed[0]).removeprefix("Failed: "), CASES[connector])


def test_a_connector_that_waits_for_the_end_of_a_line_keeps_every_promise(pytester):
    """Those of a source that stands still as well."""
    passed, skipped, failed = run(pytester, "Tail", tests="not zombie and not killed").listoutcomes()

    assert (skipped, failed) == ([], [])
    assert any("what_comes_later" in one.nodeid for one in passed)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"arguments": ""}, "*connector 'tail': say how records are added to its source, Source(..., grow=...)*"),
        ({"more": "''"}, "*`grow` added no record to the source"),
        ({"arguments": "2, grow=grow"}, "*the source has 2 records or more: what is added must be read, too"),
    ],
)
def test_a_source_that_cannot_show_anything_is_refused_with_the_remedy(pytester, given, message):
    """A test that compares nothing proves nothing."""
    failed = run(pytester, "Tail", **given).getfailures()

    assert fnmatch(first_line(failed[0]), message)
