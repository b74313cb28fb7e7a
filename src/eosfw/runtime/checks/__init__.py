"""What is checked before anything starts: properties, ids, rights, the readiness of a group for an upgrade."""
