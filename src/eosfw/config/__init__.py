"""Definitions of properties by Kafka's names, and their parsed values (Kafka's `ConfigDef`, `AbstractConfig`)."""

from eosfw.config.definition.config_def import (
    Boolean,
    Choice,
    Class,
    Config,
    ConfigDef,
    Double,
    Int,
    Key,
    List,
    Long,
    Password,
    Short,
    String,
    nearest,
)
from eosfw.config.override_policy import LOCAL_FILE_POLICY

__all__ = [
    "LOCAL_FILE_POLICY",
    "Boolean",
    "Choice",
    "Class",
    "Config",
    "ConfigDef",
    "Double",
    "Int",
    "Key",
    "List",
    "Long",
    "Password",
    "Short",
    "String",
    "nearest",
]
