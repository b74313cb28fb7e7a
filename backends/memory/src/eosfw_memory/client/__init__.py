"""Reach a cluster as a client, in this process or over a socket."""

from eosfw_memory import lean as lean  # before anything imports kio
