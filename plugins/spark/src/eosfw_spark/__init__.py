"""Spark for eosfw: a data source of committed records and a step engine."""
