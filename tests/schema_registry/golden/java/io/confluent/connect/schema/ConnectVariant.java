package io.confluent.connect.schema;

import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;

/** Stands for a class of which only what asks for variants is needed; no question does. */
public class ConnectVariant {
    public static final String LOGICAL_NAME = "org.apache.kafka.connect.data.Variant";

    public static boolean isVariant(Schema schema) {
        return schema != null && LOGICAL_NAME.equals(schema.name());
    }

    public static SchemaBuilder builder() {
        throw new UnsupportedOperationException("variants");
    }
}
