"""What is the confluent backend's own, beside the guarantees of KIP-98."""
