"""Server-side assignors: which member shall have which partitions."""
