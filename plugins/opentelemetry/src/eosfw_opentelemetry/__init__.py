"""OpenTelemetry spans of eosfw's tasks."""
