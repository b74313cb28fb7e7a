"""What Spark's workers have of the daemon that they are forks of."""

from __future__ import annotations

import gc
import importlib
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from eosfw_spark.daemon import fix_archives


def archive(folder: Path, package: str) -> Path:
    """An archive on the path of imports, of which a package was imported before."""
    path = folder / f"{package}.zip"
    add(path, f"{package}/__init__.py")
    sys.path.append(str(path))
    importlib.import_module(package)
    assert find_spec(f"{package}.late") is None
    return path


def add(path: Path, *members: str) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        for member in members:
            archive.writestr(member, "")


@pytest.fixture(autouse=True)
def own_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "path_importer_cache", dict(sys.path_importer_cache))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


def test_no_task_reads_the_directories_of_sparks_archives_again(tmp_path: Path) -> None:
    path = archive(tmp_path, "of_spark")
    fix_archives()
    add(path, "of_spark/late.py", "late_of_spark.py")
    importlib.invalidate_caches()

    assert [find_spec("of_spark.late"), find_spec("late_of_spark")] == [None, None]
    assert find_spec("of_spark") is not None


def test_an_archive_that_a_task_adds_is_read_anew(tmp_path: Path) -> None:
    fix_archives()
    path = archive(tmp_path, "of_a_job")
    add(path, "of_a_job/late.py", "late_of_a_job.py")
    importlib.invalidate_caches()

    assert None not in (find_spec("of_a_job.late"), find_spec("late_of_a_job"))


def test_no_task_is_followed_by_a_search_for_garbage_among_imported_modules(spark: SparkSession) -> None:
    tasks = spark.sparkContext.parallelize(range(2), 2)

    objects = tasks.map(lambda _: (gc.get_freeze_count(), len(gc.get_objects()))).collect()

    assert all(left_out > 50 * looked_through for left_out, looked_through in objects)
