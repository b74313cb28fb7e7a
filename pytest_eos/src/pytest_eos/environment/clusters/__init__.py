"""The clusters of tests: embedded or running, with faults, cleaned up afterwards."""
