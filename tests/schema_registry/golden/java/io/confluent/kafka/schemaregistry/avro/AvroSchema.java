package io.confluent.kafka.schemaregistry.avro;

import org.apache.avro.Schema;

/** Stands for the class that AvroData uses as a key of its cache, and for nothing else. */
public record AvroSchema(Schema schema, Integer version) {}
