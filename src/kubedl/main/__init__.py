"""One module per process that we run. Only here are parts put together."""
