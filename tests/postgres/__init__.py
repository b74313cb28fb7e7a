"""Tests of the connector that reads the changes of a PostgreSQL."""
