package io.confluent.avro.type;

import org.apache.avro.Schema;

/** Stands for a class of a jar that Maven Central does not have; no question asks about variants. */
public class VariantConversion {
    public Schema getRecommendedSchema() {
        throw new UnsupportedOperationException("variants");
    }
}
