"""Groups of the consumer group protocol (KIP-848): their members, the assignment, its reconciliation."""
