"""The transaction coordinator: its decisions, its log, its markers."""
