"""Types of PostgreSQL as schemas and values of Kafka Connect, with Debezium's semantic types."""

from __future__ import annotations

from eosfw_postgres.types.catalog import CATALOG_QUERY, Catalog, CatalogType, catalog_of
from eosfw_postgres.types.column_types import ColumnType, Texts, column_type
from eosfw_postgres.types.settings import TYPE_PROPERTIES, TypeSettings

__all__ = [
    "CATALOG_QUERY",
    "TYPE_PROPERTIES",
    "Catalog",
    "CatalogType",
    "ColumnType",
    "Texts",
    "TypeSettings",
    "catalog_of",
    "column_type",
]
