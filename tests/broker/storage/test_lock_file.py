"""Unusable or locked data directories are refused with their path, by exit code 3 or 4."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from eosfw.errors import ConfigError, DamagedDataError
from eosfw_memory.storage.files import lock_file
from eosfw_memory.storage.files.checksum_line import read_checked
from eosfw_memory.storage.files.data_directory import DataDirectory

from .data_directory_harness import NODE, DataDirectoryHarness, files

NOBODY = 65534


def opened(root, **options):
    return DataDirectory.open(root, waits=options.get("waits", False), node_id=NODE)


def a_file(root):
    root.write_text("not a directory")


def a_loop(root):
    root.symlink_to(root)


def foreign(root):
    root.mkdir()
    (root / "holiday.jpg").write_bytes(b"x")


def kafkas_own(root):
    root.mkdir()
    (root / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=1\n")


def newer(root):
    DataDirectoryHarness(root).stop()
    path = root / "meta.properties"
    path.write_text(read_checked(path).decode().replace("eosfw.format=1", "eosfw.format=2"))


def locked(root):
    global held  # noqa: PLW0603 (until the end of the test)
    held = opened(root)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (a_file, "is not a directory; take another path"),
        (a_loop, "leads nowhere or in a circle"),
        (foreign, "has no meta.properties but holds holiday.jpg; take an empty directory"),
        (kafkas_own, "belongs to another broker"),
        (newer, "has format 2, this version reads up to 1: update"),
        (locked, "is in use by another broker; stop that one or take another directory"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_unusable_path_is_refused_with_one_sentence(tmp_path, made, message):
    """Exit code 3, the path, what to do."""
    made(tmp_path / "data")
    with pytest.raises(ConfigError, match=message) as refused:
        opened(tmp_path / "data")
    assert str(refused.value).startswith(f"log.dirs: {tmp_path / 'data'} ")
    assert refused.value.exit_code == 3


@pytest.fixture
def unprivileged():
    """Drop root's privileges during the test, because root is refused nothing."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    yield
    os.seteuid(before)


@pytest.fixture
def foreign_directory():
    """A directory of this user that everybody may read and nobody may write."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o555)
        yield Path(path)


def test_a_directory_without_write_permission_is_refused(foreign_directory, unprivileged):
    """Found at the start, it is a sentence for the user; found at the first write, a producer would get the error."""
    with pytest.raises(ConfigError, match="cannot be written to by this user"):
        opened(foreign_directory)


def test_fsync_on_tmpfs_is_refused(tmp_path):
    """`--flush=fsync` on tmpfs would promise what it cannot keep."""
    if "tmpfs /dev/shm" not in Path("/proc/mounts").read_text() or not os.access("/dev/shm", os.W_OK):
        pytest.skip("no tmpfs here")
    root = Path("/dev/shm") / f"eosfw-{os.getpid()}"
    try:
        with pytest.raises(ConfigError, match="lies on tmpfs"):
            opened(root, waits=True)
    finally:
        (root / lock_file.LOCK).unlink()
        root.rmdir()


@pytest.mark.parametrize("harm", ["cluster.id=", "nothing at all"])
def test_a_damaged_identity_is_refused(tmp_path, harm):
    """Exit code 3 or 4, nothing changed."""
    DataDirectoryHarness(tmp_path).stop()
    path = tmp_path / "meta.properties"
    path.write_text(path.read_text().replace("cluster.id", "x") if "=" in harm else "")
    before = files(tmp_path)
    with pytest.raises((DamagedDataError, ConfigError), match=str(tmp_path)):
        opened(tmp_path)
    assert files(tmp_path) == before


def test_the_lock_ends_with_its_process(tmp_path):
    """No process id is compared, so none that is used again can confuse anybody."""
    code = (
        "import sys; from pathlib import Path; from eosfw_memory.storage.files.lock_file import acquire;"
        "acquire(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(ConfigError, match="in use"):
            opened(tmp_path)
        process.send_signal(signal.SIGKILL)
    opened(tmp_path).release()


def test_a_directory_keeps_its_cluster_id(tmp_path):
    """Clients see one cluster id; producer ids are never given twice, after a crash neither."""
    first = opened(tmp_path)
    ids = [next(first.producer_ids) for _ in range(3)]
    first.release()
    second = opened(tmp_path)
    assert second.cluster_id == first.cluster_id
    assert next(second.producer_ids) > max(ids)
    second.release()
