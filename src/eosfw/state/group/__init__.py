"""Which worker of a group runs which tasks, and what workers tell each other."""
