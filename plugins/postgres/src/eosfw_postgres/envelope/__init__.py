"""Changes as records with the keys, values and schemas of Debezium's connector for PostgreSQL."""

from __future__ import annotations

from eosfw_postgres.envelope.row_columns import UnexpectedNullError
from eosfw_postgres.envelope.settings import ENVELOPE_PROPERTIES, EnvelopeSettings, MessageKey, message_keys
from eosfw_postgres.envelope.table_details import TABLE_QUERY, ColumnDetails, TableDetails, details_of
from eosfw_postgres.envelope.table_envelope import NEW_KEY, OLD_KEY, Origin, Records, TableEnvelope

__all__ = [
    "ENVELOPE_PROPERTIES",
    "NEW_KEY",
    "OLD_KEY",
    "TABLE_QUERY",
    "ColumnDetails",
    "EnvelopeSettings",
    "MessageKey",
    "Origin",
    "Records",
    "TableDetails",
    "TableEnvelope",
    "UnexpectedNullError",
    "details_of",
    "message_keys",
]
