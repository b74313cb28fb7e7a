"""The broker behind its sockets: requests, coordinators, state."""
