"""Avro: by a writer's schema, resolved to a reader's."""
