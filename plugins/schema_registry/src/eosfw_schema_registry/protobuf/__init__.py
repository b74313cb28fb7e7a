"""Protobuf with its schema in a schema registry, by the rules of Confluent's `ProtobufData`."""
