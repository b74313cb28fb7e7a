"""Removal of old records: compaction, retention (Kafka's `LogCleaner`)."""
