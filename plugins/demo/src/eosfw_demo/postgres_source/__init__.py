"""The demo's source `postgres`: flights that are planned, depart or are cancelled in a PostgreSQL."""
