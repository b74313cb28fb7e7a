"""Tasks in other processes than the worker's: the worker leads, a host starts the processes (`--engine`)."""
