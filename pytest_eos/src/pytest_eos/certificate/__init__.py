"""What a run of tests has shown of a connector, as a page to publish and as JSON."""
