"""One module per guarantee of KIP-618, on the embedded broker as on a real Kafka."""
