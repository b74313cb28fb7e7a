"""Reach a cluster as a client, in this process or over a socket."""

from eosfw_memory.common import kio_import as kio_import  # before anything imports kio
