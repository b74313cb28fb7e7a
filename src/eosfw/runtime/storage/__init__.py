"""The topics that keep the state of a group: configurations, offsets, statuses (`org.apache.kafka.connect.storage`)."""
