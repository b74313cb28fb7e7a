"""Tests specific to the confluent backend, beside the guarantees of KIP-98."""
