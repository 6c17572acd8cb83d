"""Claims and their measurement: `<area>.toml` holds the sentences, commands and bars of one area."""
