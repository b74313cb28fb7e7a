package io.confluent.avro.type;

/** Stands for a class of a jar that Maven Central does not have; no question asks about variants. */
public class VariantLogicalType {
    public static final String NAME = "variant";
}
