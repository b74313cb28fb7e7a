"""Files that hold columns: Parquet and Arrow IPC."""
