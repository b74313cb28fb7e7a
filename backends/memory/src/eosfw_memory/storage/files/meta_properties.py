"""Read or write `meta.properties`, which says to which cluster a data directory belongs."""

from __future__ import annotations

import re
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
_LINES: Final = re.compile(rb"version=1\ncluster\.id=([\w-]+)\nnode\.id=[0-9]+\neosfw\.format=[0-9]+\n")
_FORMAT_LINE: Final = re.compile(rb"^eosfw\.format=([0-9]{1,9})$", re.MULTILINE)


def cluster_id(disk: Disk, node_id: int) -> str:
    """The id of the directory's cluster; a fresh one for an empty directory.

    Raises ConfigError for a directory of something else, or of a later version; DamagedDataError for a file that is not
    as it was written.
    """
    path = disk.root / META
    if not path.exists():
        return _write(disk, path, node_id)
    content = read_checked(path)
    written = _FORMAT_LINE.search(content)
    if written is not None and int(written[1]) > FORMAT:
        later = f"has format {int(written[1])}, this version reads up to {FORMAT}: update eosfw-memory"
        raise unusable_directory(disk.root, later)
    # Who counts starts in the directory wrote the file, too.
    if written is None and not (disk.root / BROKER_EPOCH_FILE).exists():
        raise unusable_directory(
            disk.root, f"belongs to another broker (its {META} has no eosfw.format); take an empty directory"
        )
    lines = _LINES.fullmatch(content)
    if lines is None:  # too much is wrong as well: it may be what is left of the checksum
        raise DamagedDataError(f"{path}: cannot be read: restore the file from a copy")
    return lines[1].decode()


def _write(disk: Disk, path: Path, node_id: int) -> str:
    # The lock was made just now; the other may be of a first start that was killed at this place.
    foreign_files = sorted(each.name for each in disk.root.iterdir() if each.name not in (LOCK, META + TEMPORARY))
    if foreign_files:
        raise unusable_directory(disk.root, f"has no {META} but holds {foreign_files[0]}; take an empty directory")
    # As long as an id of Kafka's, which is 16 bytes in base64.
    made = uuid4().hex[:22]
    lines = ("version=1", f"cluster.id={made}", f"node.id={node_id}", f"eosfw.format={FORMAT}", "")
    disk.replace(path, with_checksum("\n".join(lines).encode()), durable=True)
    return made
