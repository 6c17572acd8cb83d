"""Measurements of the web console; see console.toml."""
