"""What a test runs in: options and markers, clusters, processes, watchdogs."""
