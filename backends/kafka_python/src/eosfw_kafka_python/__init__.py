"""The kafka-python backend of eosfw."""
