"""Tests of the connector `singer`."""
