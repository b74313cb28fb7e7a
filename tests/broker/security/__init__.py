"""TLS and SASL at the embedded broker's listeners."""
