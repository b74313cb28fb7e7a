"""Spark reads what eosfw committed: a data source, a step engine."""
