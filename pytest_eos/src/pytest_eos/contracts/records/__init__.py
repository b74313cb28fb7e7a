"""The contracts of what records pass on their way to a topic: transformations, predicates, converters."""
