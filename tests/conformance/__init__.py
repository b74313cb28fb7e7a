"""What a real Kafka answers, cell by cell, asked of the embedded broker."""
