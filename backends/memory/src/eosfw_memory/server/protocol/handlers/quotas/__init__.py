"""Quotas of users and client ids."""
