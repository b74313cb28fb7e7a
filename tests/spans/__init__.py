"""Tests of watching a run."""
