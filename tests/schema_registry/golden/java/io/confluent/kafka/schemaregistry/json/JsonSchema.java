package io.confluent.kafka.schemaregistry.json;

import org.everit.json.schema.Schema;

/** Stands for the class that JsonSchemaData keeps JSON Schemas in, and for nothing else. */
public record JsonSchema(Schema rawSchema, Integer version) {
    public JsonSchema(Schema rawSchema) {
        this(rawSchema, null);
    }

    public JsonSchema copyIgnoringModernDialects() {
        return this;
    }
}
