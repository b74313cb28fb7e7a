"""Read or write `meta.properties`, which says to which cluster a data directory belongs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import uuid4

from eosfw.errors import DamagedDataError
from eosfw_memory.storage.files.broker_epoch import NAME as BROKER_EPOCH_FILE
from eosfw_memory.storage.files.checksum_line import read_checked, with_checksum
from eosfw_memory.storage.files.disk import TEMPORARY, Disk
from eosfw_memory.storage.files.lock_file import LOCK, unusable_directory

META: Final = "meta.properties"
FORMAT: Final = 1
_FORMAT_KEY: Final = "eosfw.format"


def cluster_id(disk: Disk, node_id: int) -> str:
    """The id of the directory's cluster; a fresh one for an empty directory.

    Raises ConfigError for a directory of something else, or of a later version; DamagedDataError for a file of which
    anything is missing.
    """
    path = disk.root / META
    if not path.exists():
        return _write(disk, path, node_id)
    found = dict(_properties(path))
    # Who counts starts in the directory wrote the file, too; Kafka's has no format either.
    if _FORMAT_KEY not in found and not (disk.root / BROKER_EPOCH_FILE).exists():
        why = f"belongs to another broker (its {META} has no {_FORMAT_KEY}); take an empty directory"
        raise unusable_directory(disk.root, why)
    known, kept = found.get("cluster.id"), found.get(_FORMAT_KEY, "")
    if not known or not kept.isdecimal():
        wrong = _FORMAT_KEY if known else "cluster.id"
        raise DamagedDataError(f"{path}: {wrong} is missing, or no longer readable: restore the file from a copy")
    if int(kept) > FORMAT:
        raise unusable_directory(
            disk.root, f"has format {kept}, this version reads up to {FORMAT}: update eosfw-memory"
        )
    return known


def _write(disk: Disk, path: Path, node_id: int) -> str:
    # The lock was made just now; the other may be of a first start that was killed at this place.
    foreign_files = sorted(each.name for each in disk.root.iterdir() if each.name not in (LOCK, META + TEMPORARY))
    if foreign_files:
        raise unusable_directory(disk.root, f"has no {META} but holds {foreign_files[0]}; take an empty directory")
    # As long as an id of Kafka's, which is 16 bytes in base64.
    made = uuid4().hex[:22]
    lines = ("version=1", f"cluster.id={made}", f"node.id={node_id}", f"{_FORMAT_KEY}={FORMAT}", "")
    disk.replace(path, with_checksum("\n".join(lines).encode()), durable=True)
    return made


def _properties(path: Path) -> Iterator[tuple[str, str]]:
    for line in read_checked(path).decode(errors="replace").splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            yield name.strip(), value.strip()
