"""Tasks of connectors as tasks of Spark jobs (`eosfw run --engine spark`)."""
