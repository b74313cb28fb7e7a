"""Hostile inputs: each with the error that answers it, in one sentence, without a traceback, a hang or a secret."""
