"""Keep one partition's records as the batches that producers sent, byte for byte."""
