"""Who may talk to the broker: its listeners, TLS, SASL mechanisms, users. Kafka's `common.security`."""
