"""Sockets of the embedded broker: frames, slow and hostile clients, responses on their way out."""
