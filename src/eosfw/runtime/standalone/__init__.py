"""A worker that is a group by itself, seen through a REST interface (Kafka Connect's `runtime.standalone`)."""
