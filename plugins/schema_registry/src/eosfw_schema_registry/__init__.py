"""Converters whose schemas are in a schema registry; reached by the hooks of eosfw alone."""
