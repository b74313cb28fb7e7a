"""Which producers are fenced, who owns a task, and what to do after a fencing."""
