"""Small files of every format."""

from __future__ import annotations

import io
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

LINES: Final = {"lines": "line {0}\n", "csv": "{0},x\n", "jsonl": '{{"n": {0}}}\n'}
COLUMNS: Final = ("parquet", "arrow")
COUNT: Final = 30


def text(form: str, first: int) -> bytes:
    """Lines with numbers from one on."""
    lines = "".join(LINES[form].format(number) for number in range(first, first + COUNT))
    return (("n,m\n" if form == "csv" else "") + lines).encode()


def table(form: str, first: int) -> bytes:
    """Rows with numbers from one on, in three parts."""
    rows, file = pa.table({"n": range(first, first + COUNT)}), io.BytesIO()
    if form == "parquet":
        pq.write_table(rows, file, row_group_size=COUNT // 3)
    else:
        with pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=COUNT // 3)
    return file.getvalue()
