"""Import the library in peace: it warns, once, wherever warnings are errors."""

import eosfw_kafka_python  # noqa: F401 - for its effect
