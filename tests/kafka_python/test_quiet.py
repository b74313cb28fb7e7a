"""The library keeps its log to itself."""

from __future__ import annotations

import subprocess
import sys


def test_listing_plugins_does_not_import_the_client_library() -> None:
    """Goal 9: it is imported when it is used; where warnings are errors, too."""
    asked = "import sys, eosfw_kafka_python.hooks as h; list(h.eosfw_backends()); print('kafka' in sys.modules)"
    command = [sys.executable, "-W", "error", "-c", asked]

    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout == "False\n"


def test_the_librarys_log_is_shown_at_level_info_only() -> None:
    """Its warnings come back as errors of calls: a command line shows each once."""
    reported = (
        "import logging{more}; import eosfw_kafka_python.connection; print(logging.getLogger('kafka').isEnabledFor(30))"
    )

    def asked(more: str) -> str:
        command = [sys.executable, "-c", reported.format(more=more)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    assert asked("") == "False"
    assert asked("; logging.basicConfig(level=logging.INFO)") == "True"
    assert asked("; logging.getLogger('kafka').setLevel(logging.WARNING)") == "True"
