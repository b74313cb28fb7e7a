"""An exactly-once source connector that polls a JSON REST API."""
