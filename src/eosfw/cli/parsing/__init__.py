"""How a command line is parsed: groups of commands and of options, commands of other distributions, addresses."""
