"""JSON with its JSON Schema in a schema registry, by the rules of Confluent's `JsonSchemaData`."""
