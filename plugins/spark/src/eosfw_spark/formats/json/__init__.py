"""JSON: by a type, by a JSON Schema, or in the envelope of Kafka Connect."""
