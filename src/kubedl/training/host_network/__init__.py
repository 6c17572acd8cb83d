"""Host network: pods use the network of their nodes, each with a port of its own."""
