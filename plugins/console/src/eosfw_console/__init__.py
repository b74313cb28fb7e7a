"""Pages for operators at `/ui` of each worker."""
