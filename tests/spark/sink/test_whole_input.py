"""Rows that break off are told from rows that end (S2)."""

from __future__ import annotations

import os
from typing import IO

import pytest

from eosfw.errors import StepFailedError
from eosfw_spark.sink.parallel_write import whole_input


def main(infile: IO[bytes]) -> list[int]:
    """As the function of `pyspark.worker` that has the connection."""
    return list(whole_input([1, 2]))


@pytest.mark.parametrize("word", [b"\xff\xff\xff\xfc", b""])
def test_rows_are_whole_if_spark_has_one_word_more(word: bytes) -> None:
    connection, spark = os.pipe()
    with open(connection, "rb") as infile:
        os.write(spark, word)
        os.close(spark)

        if word:
            assert main(infile) == [1, 2]
            assert infile.read() == word
        else:
            with pytest.raises(StepFailedError, match="the rows of this task broke off"):
                main(infile)


def test_rows_are_not_published_where_nobody_knows() -> None:
    with pytest.raises(StepFailedError, match="use mode atomic"):
        list(whole_input([1, 2]))
