"""An exactly-once source connector for the changes of PostgreSQL."""
