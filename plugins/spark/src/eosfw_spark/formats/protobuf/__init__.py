"""Protobuf: by the descriptors of a registry or of a file."""
