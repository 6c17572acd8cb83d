"""One module per command. Its top imports only click and what is light, so that help is instant."""
