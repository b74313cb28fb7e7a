"""KIP-98 beyond the shipped contracts: faults, kills and restarts, over every backend.

`tests/contracts` runs the contracts over the same ways.
"""
