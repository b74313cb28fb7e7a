"""The engine of a pipeline's steps."""
