"""Tests of the pure decisions of a worker group."""
