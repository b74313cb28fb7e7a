"""Deterministic simulation: one seed draws the interleaving and the faults of a whole worker group and its broker."""
