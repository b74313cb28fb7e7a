"""OpenTelemetry spans, metrics and logs of eosfw."""
