package io.confluent.connect.schema;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;

/** Stands for a class of which only what asks for variants is needed; no question does. */
public class ConnectVariant {
    public static final String LOGICAL_NAME = "org.apache.kafka.connect.data.Variant";

    public static boolean isVariant(Schema schema) {
        return schema != null && LOGICAL_NAME.equals(schema.name());
    }

    public static SchemaBuilder builder() {
        throw new UnsupportedOperationException("variants");
    }

    public static Struct toLogical(Schema schema, JsonNode value) {
        throw new UnsupportedOperationException("variants");
    }

    public static JsonNode fromLogical(Schema schema, Struct value) {
        throw new UnsupportedOperationException("variants");
    }
}
