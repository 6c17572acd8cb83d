"""Entry points: one module per process, and the command that starts them. Only this layer wires packages together."""
