"""Exactly-once source connector for files, for eosfw: lines, CSV, JSON Lines."""
