"""Groups of clients on the embedded broker, beside a real Kafka."""
