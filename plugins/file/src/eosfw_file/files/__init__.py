"""Files on a disk: which ones a pattern means, and their bytes, plain or compressed."""
