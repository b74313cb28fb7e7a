"""Have a connector judge changed offsets, as when a user changes them."""

from __future__ import annotations

from collections.abc import Sequence

from eosfw.config import Config
from eosfw.connectors import AltersOffsets
from eosfw.errors import UnsupportedError, described
from eosfw.records import SourceOffset, SourcePartition, SourceRecord

_NONSENSE = {"eos.no.such.offset": "nonsense"}


def altered_wrongly(connector: AltersOffsets, config: Config, records: Sequence[SourceRecord]) -> str | None:
    """How `alter_offsets` refuses what its tasks state, or takes what none states; None if it does not."""
    places = [(one.source_partition, one.source_offset) for one in (records[0], records[-1])]
    for partition, offset in [*places, *((partition, None) for partition, _ in places)]:
        for again in ("", " the second time, though a user may repeat a request"):
            try:
                _alter(connector, config, partition, offset)
            except UnsupportedError:  # it refuses every change
                return None
            except Exception as why:  # noqa: BLE001 - of the connector
                what = "to forget" if offset is None else f"{dict(offset)} of"
                where = f"{what} {dict(partition)}, which a task has stated"
                return f"`alter_offsets` refuses {where}{again}: {described(why)}"
    try:
        _alter(connector, config, places[0][0], _NONSENSE)
    except Exception:  # noqa: BLE001 - as it should
        return None
    return (
        f"`alter_offsets` takes the offset {_NONSENSE} of {dict(places[0][0])}, which no task states: it must raise "
        f"for what a task cannot start from"
    )


def _alter(connector: AltersOffsets, config: Config, partition: SourcePartition, offset: SourceOffset | None) -> None:
    connector.alter_offsets(config, [(dict(partition), None if offset is None else dict(offset))])
