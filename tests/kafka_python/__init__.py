"""Tests specific to the kafka-python backend, beside the guarantees of KIP-98."""
