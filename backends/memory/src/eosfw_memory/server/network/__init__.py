"""Sockets of the embedded broker: accepted connections, the frames of their streams, responses on their way out."""
