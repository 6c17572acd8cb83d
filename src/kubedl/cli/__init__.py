"""The command line: words in, text out. What is done with a cluster is in `kubedl.client`."""
