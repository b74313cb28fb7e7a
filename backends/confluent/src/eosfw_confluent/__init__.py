"""The confluent-kafka backend of eosfw."""
