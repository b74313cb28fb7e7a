"""Tests of the worker: leader, tasks, transactions."""
