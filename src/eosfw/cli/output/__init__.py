"""What commands print: data on stdout, tables, sentences and log records."""
