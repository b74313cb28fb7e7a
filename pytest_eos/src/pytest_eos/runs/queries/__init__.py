"""Queries of Spark under test, in this process or in processes that are killed."""
