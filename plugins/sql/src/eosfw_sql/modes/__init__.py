"""How far a table was read in each mode, and what is behind."""
