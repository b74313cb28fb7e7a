"""The cluster: its brokers, coordinators, directories and reassignments."""
