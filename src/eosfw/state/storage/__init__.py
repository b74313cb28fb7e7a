"""What the topics of a group hold: configurations, statuses, requests, source offsets, and in which order."""
