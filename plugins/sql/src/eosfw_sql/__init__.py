"""An exactly-once source connector that polls the tables of a database."""
