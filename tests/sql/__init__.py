"""Tests of the connector for databases."""
