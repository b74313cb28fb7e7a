"""Processes of tests, and the gates that stop them at a step."""
