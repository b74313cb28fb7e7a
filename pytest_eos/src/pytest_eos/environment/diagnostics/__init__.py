"""Why a test stands still or fails: calls of tasks, deadlines, the first cause."""
