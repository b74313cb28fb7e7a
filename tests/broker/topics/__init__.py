"""Topics of the embedded broker: creation, properties, those that the coordinators keep."""
