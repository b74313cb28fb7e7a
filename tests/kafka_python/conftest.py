"""Import the library in peace: it warns, once, wherever warnings are errors."""

from eosfw_kafka_python.backend import load_library

load_library()
