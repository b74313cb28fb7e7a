package io.confluent.kafka.schemaregistry.avro;

/** Stands for a class of which only the name of its format is needed. */
public class AvroSchema {
    public static final String TYPE = "AVRO";
}
