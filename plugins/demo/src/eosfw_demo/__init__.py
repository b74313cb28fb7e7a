"""The demo of eosfw: real flights, a deliberate zombie, a verdict."""
