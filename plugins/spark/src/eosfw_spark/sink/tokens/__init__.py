"""The tokens of published batches: what they say about the next batch, where they lie, who writes them."""
