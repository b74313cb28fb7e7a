"""The demo's source `file`: four CSV files of flights, and the aggregation of what was committed of them."""
