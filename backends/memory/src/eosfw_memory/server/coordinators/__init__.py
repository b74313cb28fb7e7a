"""The transaction coordinator: states, decisions, log, markers; `groups` has the group coordinator."""
