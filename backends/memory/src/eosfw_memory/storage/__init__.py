"""What a broker keeps: record batches, logs, topics, a data directory."""
