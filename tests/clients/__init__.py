"""Clients that nobody here wrote, with the embedded broker as their only cluster."""
