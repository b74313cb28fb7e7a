"""Write the page of a certificate, with its data and its badge beside it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pytest_eos.certificate.badge import badge
from pytest_eos.certificate.certificate import Certificate
from pytest_eos.certificate.page import page


def write(certificate: Certificate, path: Path) -> None:
    """Write FILE.html, FILE.json and FILE.svg, each whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path.with_suffix(".json"), json.dumps(certificate.data, indent=1) + "\n")
    replace_file(path.with_suffix(".svg"), badge(certificate.verdict))
    replace_file(path, page(certificate.data))


def replace_file(path: Path, text: str) -> None:
    """Write a file in place of an earlier one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    # A name may hold half of a character pair, which UTF-8 has no bytes for.
    beside.write_text(text, encoding="utf-8", errors="backslashreplace")
    beside.replace(path)
