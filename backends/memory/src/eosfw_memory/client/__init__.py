"""Reach a cluster as a client, in this process or over a socket."""
