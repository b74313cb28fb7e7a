"""A worker of a group: its herder and the requests that it answers (Kafka Connect's `runtime.distributed`)."""
