"""What runs inside the build pod: a file or a directory becomes an image in a registry, without a daemon or root."""
