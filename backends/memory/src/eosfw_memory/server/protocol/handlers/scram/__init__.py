"""Credentials of users for SCRAM."""
