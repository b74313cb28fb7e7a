"""The formats of keys and values that Spark's source makes typed columns of."""
