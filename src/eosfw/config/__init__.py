"""Turn Kafka's property names and texts into typed, frozen values, with errors that name the nearest key."""

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
