"""One transaction in which several processes write (`eosfw.protocols.SharedTransactions`)."""
