"""Real flights, a zombie on purpose, a verdict: the demo of eosfw."""
