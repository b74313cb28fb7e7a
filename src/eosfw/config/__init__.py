"""Definitions of properties by Kafka's names, and their parsed values (Kafka's `ConfigDef`, `AbstractConfig`)."""

from eosfw.config.definition import (
    Boolean,
    Choice,
    Config,
    ConfigDef,
    Int,
    Key,
    List,
    Long,
    Password,
    String,
    nearest,
)

__all__ = ["Boolean", "Choice", "Config", "ConfigDef", "Int", "Key", "List", "Long", "Password", "String", "nearest"]
