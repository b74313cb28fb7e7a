"""The leader of a worker group: it writes configurations, and fences zombies for the tasks that ask (KIP-618)."""
