"""An executor that lacks eosfw-spark says so in one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql.types import StringType, StructField, StructType

from eosfw_spark.sink.atomic_write import AtomicStreamWriter
from eosfw_spark.sink.options import parse_sink

UNPICKLE = """
import pickle, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
try:
    print(type(pickle.load(sys.stdin.buffer)).__name__)
except ModuleNotFoundError as why:
    print(why)
"""


def unpickled(pickled: bytes, hidden: tuple[str, ...]) -> str:
    """What another process says that cannot import some packages."""
    code = UNPICKLE.replace("HIDDEN", repr(hidden))
    return subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True, check=True).stdout.decode()


def test_executor_without_our_packages_says_which_and_where(tmp_path: Path) -> None:
    options = parse_sink({"kafka.bootstrap.servers": "x:1", "topic": "t", "stagingLocation": str(tmp_path)})
    writer = AtomicStreamWriter(options, StructType([StructField("value", StringType())]), None)
    pickled = cloudpickle.dumps(lambda: writer)  # as Spark's own function has it

    assert unpickled(pickled, ()).strip() == "function"
    said = unpickled(pickled, ("eosfw_spark",))
    assert said.startswith("executor ")
    assert "has no module eosfw_spark: install eosfw-spark" in said
