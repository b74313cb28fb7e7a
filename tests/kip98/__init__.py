"""What the shipped contracts leave to say of KIP-98, and what faults, kills and restarts do to it, over every backend.

`tests/contracts` runs the contracts over the same ways.
"""
