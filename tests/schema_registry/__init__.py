"""Tests of the converters whose schemas are in a schema registry."""
