"""An embedded, Kafka-compatible broker in memory, for eosfw."""
