"""How transformations reach the key, the value and their fields, with a schema or without, in records or in columns."""
