"""The guarantees of KIP-98, one module each."""
