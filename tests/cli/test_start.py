"""What a command imports when it starts."""

from __future__ import annotations

import subprocess
import sys

from eosfw.registry import load_plugins

CLIENT_LIBRARIES = (
    "confluent_kafka", "fsspec", "google.protobuf", "httpx2", "jsonschema", "kafka", "kio", "prometheus_client",
    "psycopg", "pyarrow", "pyspark", "sqlalchemy", "starlette", "uvicorn",
)  # fmt: skip


def test_finding_what_is_installed_imports_no_client_library() -> None:
    """A command that uses none of them starts in a third of the time."""
    program = (
        "import sys\n"
        "from eosfw.registry import load_plugins\n"
        "assert {'sql', 'postgres', 'http', 'file'} <= set(load_plugins().names('connector'))\n"
        f"print(*sorted(set(sys.modules) & set({CLIENT_LIBRARIES})))\n"
    )

    imported = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert imported.split() == []


def test_everything_that_is_installed_is_as_it_is_described() -> None:
    assert load_plugins().imported().failures == ()
