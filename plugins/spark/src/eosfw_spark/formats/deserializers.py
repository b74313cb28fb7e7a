"""What decodes the keys or values of records (Kafka's `Deserializer`)."""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa


class Deserializer(Protocol):
    """Decodes bytes in one process; it is made there, from a format that Spark ships."""

    type: pa.DataType
    """The Arrow type of the column."""

    def deserialize(self, data: bytes) -> Any:
        """The value, as Arrow makes an element of `type` from it; UndecodableError if it does not decode."""

    def deserialize_column(self, column: pa.Array) -> pa.Array | None:
        """The values of a whole column; None leaves them to `deserialize`, which names what does not decode."""
