"""What every layer may need of its process: the installed distributions, the task that a log line is about."""
