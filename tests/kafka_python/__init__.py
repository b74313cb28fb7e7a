"""What is the kafka-python backend's own, beside the guarantees of KIP-98."""
