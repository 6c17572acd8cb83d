"""One module per process that we run, and the command that runs one by its name. Only here are parts put together."""
