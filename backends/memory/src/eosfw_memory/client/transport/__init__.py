"""Requests on their way to a broker, by direct calls or over a socket."""
