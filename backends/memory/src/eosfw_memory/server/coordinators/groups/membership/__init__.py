"""Members of a group: joining, rebalancing, sessions."""
