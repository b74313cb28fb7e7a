"""What clients may use of the broker: bytes and time, by user and client id (KIP-13, KIP-124)."""
